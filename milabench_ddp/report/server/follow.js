"use strict";
// Asks where the run stands until it has ended; shows the report anew when a benchmark has ended.
const GOES_ON = 2000, AGAIN = 10000; // milliseconds
const line = document.getElementById("progress");
const frame = document.querySelector("iframe");
let stamp = document.body.dataset.stamp;

async function look() {
  let next = AGAIN;
  try {
    const answer = await fetch("progress.json");
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const now = await answer.json();
    line.textContent = now.sentence;
    if (now.stamp !== stamp) {
      stamp = now.stamp;
      frame.contentWindow.location.reload();
    }
    next = now.outcome === null ? GOES_ON : 0;
  } catch (error) {
    line.textContent = `not known any more: ${error.message}`;
  }
  if (next) setTimeout(look, next);
}
look();
