"use strict";
// Asks where the run stands; shows the report anew when a benchmark has begun or ended.
const SOON = 2000, LATER = 10000; // milliseconds; a run that has ended may be resumed
const line = document.getElementById("progress");
const frame = document.querySelector("iframe");
let stamp = document.body.dataset.stamp;

async function look() {
  let next = LATER;
  try {
    const answer = await fetch(new URL("progress.json", frame.src));
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const now = await answer.json();
    line.textContent = now.sentence;
    if (now.stamp !== stamp) {
      stamp = now.stamp;
      frame.contentWindow.location.reload();
    }
    if (now.outcome === null) next = SOON;
  } catch (error) {
    line.textContent = `not known any more: ${error.message}`;
  }
  setTimeout(look, next);
}
look();
