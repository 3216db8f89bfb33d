// The charts of a page: series over time, drawn by uPlot when they are first seen, with a legend, the
// value at a place by mouse or keyboard, and the numbers as a table.
"use strict";
const Courses = (() => {
  const $ = (selector, within) => within.querySelector(selector);

  function make(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  const WHOLE = [1, 2, 5].flatMap((k) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6].map((size) => k * size)).sort((a, b) => a - b);
  const FONT = "12px system-ui";
  const ruler = document.createElement("canvas").getContext("2d");
  const drawn = new Set(); // figures, which are drawn anew in other colours
  const waiting = new Map(); // figures, and what draws them once they are seen
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) drawNow(entry.target);
  }, { rootMargin: "200px" });
  const resized = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      if (target.plot && contentRect.width && Math.abs(contentRect.width - target.plot.width) > 1) {
        target.plot.setSize({ width: contentRect.width, height: target.plot.height });
      }
    }
  });

  const numbers = ({ power, least, v }) =>
    v.map((one) => (one === null ? null : round((one + least) * 10 ** power, power)));
  const round = (value, power) => Number(value.toFixed(Math.min(Math.max(-power, 0), 20)));
  const shown = (value) =>
    value === null || value === undefined
      ? "–"
      : value.toLocaleString("en", { maximumSignificantDigits: 6 });
  const name = (text, index) => text || `series ${index + 1}`;
  const color = (variable) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${variable}`).trim();

  function widthOf(text) {
    ruler.font = FONT;
    return ruler.measureText(text).width;
  }

  function places({ v, from, by, n, ...rest }) {
    if (v) return numbers({ v, ...rest });
    return Array.from({ length: n }, (_, k) => Number((from + k * by).toPrecision(6)));
  }

  // The place on the x axis, or the part of it that a point stands for.
  function place(chart, index) {
    const { by } = chart.x.at;
    if (!by) return shown(chart.at[index]);
    const whole = Number.isInteger(by);
    const [low, high] = [chart.at[index] - by / 2, chart.at[index] + by / 2];
    const ends = whole ? [Math.ceil(low), Math.floor(high)] : [low, high].map((end) => Number(end.toPrecision(4)));
    return ends[0] === ends[1] ? shown(ends[0]) : `${shown(ends[0])} to ${shown(ends[1])}`;
  }

  function prepare(figure, chart, section) {
    chart.at = places(chart.x.at);
    for (const line of chart.curves) {
      line.mid = numbers(line.mid);
      line.low = line.low ? numbers(line.low) : null;
      line.high = line.high ? numbers(line.high) : null;
    }
    const most = Math.max(...chart.curves.map((line) => line.n));
    const each = chart.curves.some((line) => line.low)
      ? `; each point is the median of about ${Math.round(most / chart.at.length) || 1}, in the band of their minimum and maximum`
      : "";
    $("figcaption", figure).append(
      make("small", { textContent: ` ${chart.y}, by ${chart.x.name}${each}` }),
    );
    figure.append(legend(chart), stage(figure, chart, section), table(chart));
    seen.observe(figure);
  }

  function legend(chart) {
    const list = make("ul", { className: "legend" });
    chart.curves.forEach((line, k) => {
      const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      swatch.setAttribute("viewBox", "0 0 28 8");
      swatch.setAttribute("class", "chart");
      swatch.setAttribute("aria-hidden", "true");
      const stroke = document.createElementNS("http://www.w3.org/2000/svg", "path");
      stroke.setAttribute("d", "M0 4h28");
      stroke.setAttribute("class", `line line${k % 8}`);
      swatch.append(stroke);
      list.append(make("li", {}, swatch, name(line.name, k)));
    });
    for (const [label] of chart.shaded) {
      list.append(make("li", {}, make("span", { className: "shaded" }), label));
    }
    return list;
  }

  function stage(figure, chart, section) {
    const said = make("output", { className: "said" });
    said.setAttribute("aria-live", "polite");
    const holder = make("div", { className: "plot", tabIndex: 0 });
    holder.setAttribute("role", "application");
    holder.setAttribute("aria-roledescription", "chart");
    holder.setAttribute("aria-label", summary(chart));
    holder.style.height = chart.axis ? "150px" : "240px";
    let at = -1;
    let line = 0;
    const say = (index, lines) => {
      at = index ?? -1;
      const known = chart.at[at] !== undefined;
      said.textContent = known ? `${chart.x.name} ${place(chart, at)}: ${lines.map((k) => value(chart, at, k)).join("; ")}` : "";
    };
    holder.addEventListener("keydown", (event) => {
      const last = chart.at.length - 1;
      const moves = {
        ArrowRight: at + 1, ArrowLeft: at - 1, PageDown: at + 10, PageUp: at - 10,
        Home: 0, End: last, ArrowDown: at, ArrowUp: at,
      };
      if (!(event.key in moves)) return;
      event.preventDefault();
      if (event.key === "ArrowDown") line = (line + 1) % chart.curves.length;
      if (event.key === "ArrowUp") line = (line + chart.curves.length - 1) % chart.curves.length;
      const index = Math.min(Math.max(moves[event.key], 0), last);
      const plot = drawNow(figure);
      const left = plot.valToPos(chart.at[index], "x");
      const top = plot.valToPos(chart.curves[line].mid[index] ?? 0, "y");
      plot.setCursor({ left, top });
      say(index, [line]);
    });
    waiting.set(figure, () => {
      holder.plot = new uPlot(options(chart, section, holder, (index) => say(index, [...chart.curves.keys()])), data(chart), holder);
      resized.observe(holder);
    });
    return make("div", {}, holder, said);
  }

  function summary(chart) {
    const parts = chart.curves.map((line, k) => {
      const known = line.mid.filter((one) => one !== null);
      return `${name(line.name, k)} from ${shown(Math.min(...known))} to ${shown(Math.max(...known))}`;
    });
    return `${chart.title}, ${chart.y}: ${parts.join("; ")}. Left and right go along it, up and down to another series.`;
  }

  function value(chart, index, line) {
    const { mid, low, high } = chart.curves[line];
    let text = `${name(chart.curves[line].name, line)} ${shown(mid[index])}`;
    if (low && low[index] !== high[index]) text += ` (${shown(low[index])} to ${shown(high[index])})`;
    return text;
  }

  function data(chart) {
    const columns = [chart.at];
    for (const { mid, low, high } of chart.curves) columns.push(high ?? mid, low ?? mid, mid);
    return columns;
  }

  function options(chart, section, holder, say) {
    const series = [{}];
    const bands = [];
    const swatches = holder.closest("figure").querySelectorAll(".legend path");
    chart.curves.forEach((line, k) => {
      const { stroke, strokeDasharray } = getComputedStyle(swatches[k]);
      const dash = strokeDasharray === "none" ? [] : strokeDasharray.split(",").map(parseFloat);
      const hidden = { stroke: "transparent", points: { show: false }, spanGaps: true };
      const few = line.n <= 40;
      series.push(hidden, hidden, {
        stroke, width: 1.5, dash, spanGaps: true, points: { show: few, size: 4 },
      });
      if (line.low) bands.push({ series: [3 * k + 1, 3 * k + 2], fill: stroke.replace("rgb(", "rgba(").replace(")", ", 0.2)") });
    });
    const axis = {
      stroke: color("text"), font: FONT, labelFont: FONT, labelSize: 18,
      grid: { stroke: color("line"), width: 1 }, ticks: { stroke: color("line"), width: 1 },
    };
    const isCounted = chart.x.name === "step" || chart.x.name === "observation";
    const short = (_, ticks) => ticks.map((tick) => shown(tick));
    return {
      width: holder.clientWidth || 600,
      height: parseInt(holder.style.height, 10),
      legend: { show: false },
      cursor: {
        y: false, drag: { x: true, y: false }, points: { size: 7 },
        sync: { key: `${section}/${chart.axis || chart.key}` },
      },
      scales: { x: { time: false } },
      series, bands,
      axes: [
        { ...axis, label: chart.x.name, values: short, size: 30, ...(isCounted ? { incrs: WHOLE } : {}) },
        { ...axis, values: short, size: (_, ticks) => 18 + Math.max(24, ...(ticks ?? []).map(widthOf)) },
      ],
      hooks: {
        drawClear: [(plot) => shade(plot, chart)],
        setCursor: [(plot) => { if (plot.cursor.event) say(plot.cursor.idx); }],
      },
    };
  }

  function shade(plot, chart) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.fillStyle = color("shaded");
    for (const [, begin, end] of chart.shaded) {
      const left = Math.max(plot.valToPos(begin, "x", true), bbox.left);
      const right = Math.min(plot.valToPos(end, "x", true), bbox.left + bbox.width);
      if (right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height);
    }
    ctx.restore();
  }

  function drawNow(figure) {
    const holder = $(".plot", figure);
    if (!holder.plot && waiting.has(figure)) {
      seen.unobserve(figure);
      drawn.add(figure);
      waiting.get(figure)();
    }
    return holder.plot;
  }

  function drawAnew() {
    for (const figure of drawn) {
      const holder = $(".plot", figure);
      holder.plot?.destroy();
      holder.plot = null;
      drawNow(figure);
    }
  }

  function table(chart) {
    const details = make("details", { className: "numbers" }, make("summary", { textContent: "Show the numbers" }));
    details.addEventListener("toggle", () => {
      if (details.open && !$("table", details)) details.append(tableOf(chart));
    });
    return details;
  }

  function tableOf(chart) {
    const heads = [chart.x.name];
    const columns = [];
    chart.curves.forEach(({ mid, low, high, ...line }, k) => {
      heads.push(`${name(line.name, k)}, ${chart.y}`);
      columns.push(mid);
      if (low) {
        heads.push("minimum", "maximum");
        columns.push(low, high);
      }
    });
    const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col", textContent: text })));
    const rows = chart.at.map((_, index) =>
      make("tr", {}, make("th", { scope: "row", textContent: place(chart, index) }), ...columns.map((one) => make("td", { className: "number", textContent: shown(one[index]) }))));
    const made = make("table", {}, make("caption", { textContent: chart.title }),
      make("thead", {}, head), make("tbody", {}, ...rows));
    const box = make("div", { className: "scroll tall", tabIndex: 0 }, made);
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `${chart.title}, numbers`);
    return box;
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAnew);
  matchMedia("print").addEventListener("change", drawAnew);
  addEventListener("beforeprint", () => {
    for (const figure of waiting.keys()) if (figure.closest("details.bench").open) drawNow(figure);
  });
  return { make, prepare };
})();
