"use strict";
// Line charts as SVG: curves with bands, a legend whose entries hide a curve, and the values of a step under the pointer
// or the arrow keys.
window.chart = (() => {
  const { element, button } = window.page;
  const SVG = "http://www.w3.org/2000/svg";
  const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [54, 12, 10, 28, 230];
  const COLOURS = 8;

  function draw(name, about) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(about)) made.setAttribute(key, value);
    return made;
  }

  function round(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= rough * (1 - 1e-9));
  }

  function axis(low, high, count) {
    const top = high > low ? high : low + (Math.abs(low) || 1);
    const step = round((top - low) / count);
    const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(top / step - 1e-9)];
    return { low: first * step, high: last * step, ticks: Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step) };
  }

  function number(value) {
    const size = Math.abs(value);
    if (value === 0) return "0";
    if (size < 1e-3) return value.toExponential(1).replace(".0e", "e");
    if (size >= 1e9) return `${Number((value / 1e9).toPrecision(3))}G`;
    if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
    return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
  }

  const percent = (value) => `${Number((100 * value).toPrecision(Math.abs(value) < 0.1 ? 2 : 3))} %`;

  // The place of the value that is nearest to x in an ascending list.
  function nearest(list, x) {
    let [low, high] = [0, list.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < x) low = middle + 1;
      else high = middle;
    }
    return low > 0 && Math.abs(list[low - 1] - x) <= Math.abs(list[low] - x) ? low - 1 : low;
  }

  // about: title, series [{label, x, y, low, high, interval, steps, dots, colour}], percent, zero, over (name of x).
  function chart(about) {
    const figure = element("figure");
    const head = element("figcaption");
    head.append(element("h3", about.title));
    const legend = element("div", "", "legend");
    const holder = element("div", "", "plot");
    holder.tabIndex = 0;
    holder.setAttribute("role", "group");
    holder.setAttribute("aria-roledescription", "chart");
    const told = element("p", "", "told");
    told.setAttribute("role", "status");
    const hidden = new Set();
    const show = about.percent ? percent : number;
    const shownX = (x) => (about.over === "hours" ? `${number(x)} hours` : `step ${Math.round(x).toLocaleString("en")}`);
    const all = about.series.filter((one) => one.x.length);
    let at = null; // the x that is told
    let plot = null;

    const visible = () => all.filter((one) => !hidden.has(one.label));

    function line(one, x, y, from = "y") {
      return one.x.map((step, place) => `${place ? "L" : "M"}${x(step).toFixed(1)} ${y(one[from][place]).toFixed(1)}`).join("");
    }

    function frame(svg, x, y, axisX, axisY, width) {
      for (const value of axisY.ticks) {
        svg.append(draw("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }));
        const label = draw("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" });
        label.textContent = show(value);
        svg.append(label);
      }
      for (const value of axisX) {
        const label = draw("text", { x: x(value), y: HEIGHT - 8, "text-anchor": "middle" });
        label.textContent = number(value);
        svg.append(label);
      }
    }

    function curve(svg, one, x, y) {
      const colour = one.colour % COLOURS;
      if (one.low && one.x.length > 1) {
        const lower = one.x.map((step, place) => `L${x(step).toFixed(1)} ${y(one.low[place]).toFixed(1)}`).reverse().join("");
        svg.append(draw("path", { class: `band fill${colour}`, d: `${line(one, x, y, "high")}${lower}Z` }));
      }
      svg.append(draw("path", { class: `line line${colour}${one.dashed ? " dashed" : ""}`, d: line(one, x, y) }));
      if (one.x.length <= 40 && (one.dots || one.x.length === 1)) {
        one.x.forEach((step, place) => svg.append(draw("circle", { class: `fill${colour}`, cx: x(step), cy: y(one.y[place]), r: 3 })));
      }
    }

    function render() {
      const width = Math.max(260, holder.clientWidth || 440);
      const shown = visible();
      const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" });
      if (shown.length) {
        const xs = shown.flatMap((one) => [one.x[0], one.x.at(-1)]);
        const ys = shown.flatMap((one) => [...one.y, ...(one.low ?? []), ...(one.high ?? [])]);
        const [left, right] = [Math.min(...xs), Math.max(...xs)];
        const axisY = axis(ys.reduce((a, b) => Math.min(a, b), about.zero ? 0 : Infinity), ys.reduce((a, b) => Math.max(a, b), -Infinity), 4);
        const x = (value) => LEFT + ((value - left) / (right - left || 1)) * (width - LEFT - RIGHT);
        const y = (value) => HEIGHT - BOTTOM - ((value - axisY.low) / (axisY.high - axisY.low)) * (HEIGHT - BOTTOM - TOP);
        const axisX = right > left ? axis(left, right, width < 420 ? 3 : 6).ticks.filter((value) => value >= left && value <= right) : [left];
        frame(svg, x, y, axisX, axisY, width);
        for (const one of shown) curve(svg, one, x, y);
        plot = { x, y, left, right, width, shown };
        const cursor = draw("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM });
        svg.append(cursor);
        plot.cursor = cursor;
      }
      holder.replaceChildren(svg);
      if (at !== null) tell(at);
    }

    function value(one, place) {
      const span = one.low ? (one.interval ? ` (95 % ${show(one.low[place])} to ${show(one.high[place])})` : ` (${show(one.low[place])} to ${show(one.high[place])} over ${one.steps} steps)`) : "";
      return `${one.label} ${show(one.y[place])}${span}`;
    }

    function tell(x) {
      if (!plot) return;
      const nearby = plot.shown.map((one) => one.x[nearest(one.x, x)]);
      at = nearby.reduce((best, one) => (Math.abs(one - x) < Math.abs(best - x) ? one : best), nearby[0]);
      const tolerance = (plot.right - plot.left) / 60;
      const said = plot.shown.map((one) => [one, nearest(one.x, at)]).filter(([one, place]) => Math.abs(one.x[place] - at) <= tolerance).map(([one, place]) => value(one, place));
      plot.cursor.setAttribute("x1", plot.x(at));
      plot.cursor.setAttribute("x2", plot.x(at));
      plot.cursor.classList.add("on");
      told.textContent = window.page.visible(`${shownX(at)}: ${said.join("; ")}`);
    }

    holder.addEventListener("pointermove", (event) => {
      if (!plot) return;
      const scale = plot.width / holder.clientWidth;
      const inside = (event.clientX - holder.getBoundingClientRect().left) * scale - LEFT;
      tell(plot.left + (inside / (plot.width - LEFT - RIGHT)) * (plot.right - plot.left));
    });
    holder.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (by === undefined || !plot) return;
      event.preventDefault();
      const xs = [...new Set(plot.shown.flatMap((one) => one.x))].sort((a, b) => a - b);
      const here = at === null ? (by > 0 ? -1 : xs.length) : nearest(xs, at);
      tell(xs[Math.min(Math.max(by === Infinity ? xs.length - 1 : here + by, 0), xs.length - 1)]);
    });

    all.forEach((one) => {
      const entry = button(one.label, () => {
        hidden.has(one.label) ? hidden.delete(one.label) : hidden.add(one.label);
        entry.setAttribute("aria-pressed", String(!hidden.has(one.label)));
        plot = null;
        render();
      });
      entry.className = `key key${one.colour % COLOURS}${one.dashed ? " dashed" : ""}`;
      entry.setAttribute("aria-pressed", "true");
      legend.append(entry);
    });
    holder.setAttribute("aria-label", `${about.title}. ${all.map((one) => `${one.label}: ${show(one.y[0])} at ${shownX(one.x[0])}, ${show(one.y.at(-1))} at ${shownX(one.x.at(-1))}`).join(". ")}. Arrow keys tell the values.`);
    figure.append(head, legend, holder, told);
    if (about.caption) {
      const caption = element("p", about.caption, "quiet");
      caption.append(" ", element("span", about.hint ?? "", "hint"));
      figure.append(caption);
    }
    let last = 0;
    new ResizeObserver(() => {
      if (holder.clientWidth !== last) {
        last = holder.clientWidth;
        render();
      }
    }).observe(holder);
    return figure;
  }
  return chart;
})();
