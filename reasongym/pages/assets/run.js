"use strict";
// The page of one run: its curves, and what is above them made anew while it goes on.
(() => {
  const { at, element, load, watch } = window.page;
  const slug = at("health").dataset.run;
  const DASHED = /^(reward|rollout|status|train)\//; // training beside held-out: told apart without colour

  function series(data, figure) {
    const beside = figure.curves.some(([metric]) => metric.startsWith("eval/"));
    return figure.curves.map(([metric, label], colour) => ({ ...data.series[metric], label, colour,
      dots: metric.startsWith("eval/"), dashed: beside && DASHED.test(metric) }));
  }

  function draw(data) {
    at("charts").replaceChildren(...data.figures.map((figure) =>
      window.chart({ ...figure, series: series(data, figure), over: "step" })));
    if (data.figures.length === 0) at("charts").append(element("p", "No numbers are recorded yet.", "quiet"));
  }

  function tell(health) {
    const state = element("p");
    state.append(element("span", health.state, `tag ${health.state}`), " ", ...health.notes.map((note) => element("span", note, "mark")));
    const tiles = element("dl", "", "tiles");
    for (const [name, value, below] of health.tiles) {
      const tile = element("div");
      const told = element("dd", `${value} `);
      told.append(element("small", below));
      tile.append(element("dt", name), told);
      tiles.append(tile);
    }
    const lines = element("ul", "", "findings");
    for (const [what, remedy] of health.findings) {
      const line = element("li", `${what} `);
      line.append(element("span", remedy, "quiet"));
      lines.append(line);
    }
    const found = health.findings.length ? [element("h2", "Findings"), lines] : [];
    at("health").replaceChildren(state, ...(health.why ? [element("p", health.why, "quiet")] : []), tiles, ...found);
  }

  async function start() {
    const data = await load("data.js", `data/${slug}`);
    draw(data);
    watch("pulse.js", data.version, async () => {
      const news = await load("data.js", `data/${slug}`);
      tell(news.health);
      draw(news);
      document.dispatchEvent(new Event("news"));
      return news.version;
    });
  }

  start().catch((error) => { at("lost").textContent = error.message; });
})();
