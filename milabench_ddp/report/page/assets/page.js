// The page of a report: unpacks sections, sorts and filters tables, follows links. No request.
"use strict";
(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

  // --- what is compressed -----------------------------------------------------------------------

  const packs = new Map(); // some sections together, see page.py

  function unpacked(number) {
    if (!packs.has(number)) packs.set(number, unpackNow(document.getElementById(`packed-${number}`)));
    return packs.get(number);
  }

  async function unpackNow(script) {
    const bytes = Uint8Array.from(atob(script.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const parts = (await new Response(stream).text()).split("\x1e");
    return { bodies: parts.slice(0, parts.length / 2), courses: parts.slice(parts.length / 2) };
  }

  const filled = new Map(); // sections, and when they are complete

  function fill(section) {
    if (!filled.has(section)) filled.set(section, fillNow(section));
    return filled.get(section);
  }

  async function fillNow(section) {
    const [number, place] = section.dataset.place.split(" ");
    const { bodies, courses } = await unpacked(number);
    // all text in it was escaped where it was made
    if (bodies[place]) $(":scope > .body", section).innerHTML = bodies[place];
    withPoints(section);
    for (const course of JSON.parse(courses[place])) {
      const figure = $(`figure[data-course="${course.key}"]`, section);
      if (figure) Courses.prepare(figure, course, section.id);
    }
  }

  // --- tables -----------------------------------------------------------------------------------

  const asNumber = (text) => {
    const found = text.replace(/,/g, "").match(/^[<±+-]?\s*-?\d+(\.\d+)?(e[+-]?\d+)?/i);
    return found ? parseFloat(found[0].replace(/[<±\s]/g, "")) : NaN;
  };

  function sort(button) {
    const th = button.closest("th");
    const body = $("tbody", th.closest("table"));
    const at = [...th.parentNode.children].indexOf(th);
    const up = th.getAttribute("aria-sort") !== "ascending";
    for (const other of th.parentNode.children) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...body.rows].map((row) => {
      const text = row.cells[at].textContent.trim().replace(/^=$/, "0"); // as the median
      return { row, text, number: asNumber(text), empty: ["", "-", "nan"].includes(text) };
    });
    const sign = up ? 1 : -1;
    const byNumber = rows.every(({ number, empty }) => empty || !isNaN(number));
    rows.sort((a, b) => {
      if (a.empty || b.empty) return a.empty - b.empty; // unknown values stay at the end
      if (byNumber) return sign * (a.number - b.number);
      return sign * a.text.localeCompare(b.text, "en", { numeric: true });
    });
    body.append(...rows.map(({ row }) => row));
  }

  function filter() {
    const words = $("#filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = $("#kind").value;
    let count = 0;
    for (const row of $$("#main tbody tr")) {
      const text = row.textContent.toLowerCase();
      const found = row.dataset.found;
      const fits = kind === "" || (kind === "any" ? /error|warning/.test(found) : found.includes(kind));
      row.hidden = !(fits && words.every((word) => text.includes(word)));
      const section = document.getElementById(row.dataset.id);
      if (section) section.hidden = row.hidden;
      count += !row.hidden;
    }
    $("#count").textContent = `${count} of ${$$("#main tbody tr").length} benchmarks`;
  }

  // --- charts as SVG: their points by keyboard -----------------------------------------------------

  const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };

  function withPoints(within) {
    for (const chart of $$("figure > svg.chart", within)) {
      if (!$(".marker > title", chart)) continue;
      chart.tabIndex = 0;
      chart.setAttribute("aria-roledescription", "chart; the arrow keys go along its points");
      const said = Courses.make("output", { className: "said" });
      said.ariaLive = "polite";
      chart.after(said);
    }
  }

  function toPoint(event) {
    const chart = event.target.closest("svg.chart[tabindex]");
    if (!chart || !(event.key in MOVES)) return;
    event.preventDefault();
    const points = $$(".marker", chart).filter((point) => $("title", point));
    const now = points.findIndex((point) => point.matches(".current"));
    const next = Math.min(Math.max(now + MOVES[event.key], 0), points.length - 1);
    points[now]?.classList.remove("current");
    points[next].classList.add("current");
    chart.nextElementSibling.textContent = $("title", points[next]).textContent;
  }

  // --- the page ---------------------------------------------------------------------------------

  async function go() {
    const id = decodeURIComponent(location.hash.slice(1));
    const section = document.getElementById(id.split("--")[0]);
    if (!section?.matches("details.bench")) return;
    section.hidden = false;
    section.open = true;
    await fill(section);
    const target = document.getElementById(id) ?? section;
    for (let inner = target.closest("details"); inner; inner = inner.parentElement.closest("details")) inner.open = true;
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView();
  }

  async function copy(button) {
    const code = $("code", button.parentNode);
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "selected";
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.closest("thead")) sort(button);
    else if (button?.matches(".copy")) copy(button);
    else if (button?.id === "open-all") for (const section of $$("details.bench")) section.open = true;
    const link = event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) go(); // no other event tells it
  });
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.("details.bench") && event.target.open) fill(event.target);
  }, true);
  document.addEventListener("keydown", toPoint);
  addEventListener("hashchange", go);
  $("#filter")?.addEventListener("input", filter);
  $("#kind")?.addEventListener("change", filter);
  for (const part of $$("main > section:not(#details)")) withPoints(part);
  for (const section of $$("details.bench[open]")) fill(section);
  document.documentElement.dataset.ready = "yes";
  go();
})();
