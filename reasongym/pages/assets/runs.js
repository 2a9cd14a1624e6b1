"use strict";
// The table of runs: which are drawn over one another, and new lines while runs go on. board.js sorts and filters it.
(() => {
  const { at, element, load, watch } = window.page;
  const MOST = 8; // curves over one another
  const FIRST = 4; // drawn before anything is chosen
  const body = at("runs").tBodies[0];
  const datas = new Map(); // slug -> promise of its data
  let turn = 0;

  const ticks = () => [...body.querySelectorAll("input.pick")];
  const picked = () => ticks().filter((tick) => tick.checked).map((tick) => tick.value);

  function data(slug) {
    if (!datas.has(slug)) {
      const promise = load(`runs/${slug}/data.js`, `data/${slug}`);
      promise.catch(() => datas.delete(slug)); // so that it is tried again
      datas.set(slug, promise);
    }
    return datas.get(slug);
  }

  // Over hours of training: the hours at the end of each step, between two steps that are known in proportion.
  function hoursAt(hours, step) {
    const after = hours.x.findIndex((known) => known >= step);
    if (after < 0) return hours.y.at(-1) ?? 0;
    if (after === 0) return hours.x[0] === step ? hours.y[0] : (hours.y[0] * Math.max(step, 0)) / hours.x[0];
    const share = (step - hours.x[after - 1]) / (hours.x[after] - hours.x[after - 1]);
    return hours.y[after - 1] + share * (hours.y[after] - hours.y[after - 1]);
  }

  function curve(one, metric, colour) {
    const known = one.series[metric];
    const x = at("over").value === "hours" ? known.x.map((step) => hoursAt(one.hours, step)) : known.x;
    return { ...known, x, label: one.name, colour, dots: metric.startsWith("eval/") };
  }

  function choices(loaded) {
    const known = new Map();
    for (const one of loaded) {
      for (const figure of one.figures) {
        for (const [metric, label] of figure.curves) {
          if (!known.has(metric)) known.set(metric, { ...figure, title: figure.curves.length > 1 ? `${figure.title}, ${label}` : figure.title });
        }
      }
    }
    return known;
  }

  async function draw() {
    turn += 1;
    const mine = turn;
    const slugs = picked();
    const settled = await Promise.allSettled(slugs.map(data));
    if (mine !== turn) return;
    const loaded = settled.map((one) => one.value).filter(Boolean);
    const known = choices(loaded);
    const before = at("metric").value;
    at("metric").replaceChildren(...[...known].map(([metric, figure]) => {
      const option = element("option", figure.title);
      option.value = metric;
      return option;
    }));
    if (known.has(before)) at("metric").value = before;
    const metric = at("metric").value;
    const shown = loaded.map((one, colour) => [one, colour]).filter(([one]) => one.series[metric]?.x.length);
    at("overlay").replaceChildren(...(shown.length ? [window.chart({ ...known.get(metric), over: at("over").value,
      series: shown.map(([one, colour]) => curve(one, metric, colour)) })] : []));
    const lost = settled.length - loaded.length;
    at("drawn").textContent = `${shown.length} of ${slugs.length} chosen runs have this curve${lost ? `; ${lost} cannot be loaded` : ""}`;
    const full = slugs.length >= MOST;
    for (const tick of ticks()) tick.disabled = full && !tick.checked;
  }

  // The cells of a line that stand after the box and the name.
  function fill(row, fields) {
    fields.forEach(([text, kind, value], place) => {
      const cell = row.cells[place + 1];
      cell.className = kind;
      if (value !== null) cell.dataset.value = value;
      if (kind === "state") cell.replaceChildren(element("span", text, `tag ${text}`));
      else if (place > 0) cell.textContent = text;
    });
  }

  function newRow(slug, fields) {
    const row = body.insertRow();
    row.dataset.run = slug;
    for (let place = 0; place <= fields.length; place += 1) row.insertCell();
    const tick = element("input", "", "pick");
    Object.assign(tick, { type: "checkbox", value: slug });
    tick.setAttribute("aria-label", `Draw ${fields[0][0]}`);
    row.cells[0].className = "pick";
    row.cells[0].append(tick);
    const link = element("a", fields[0][0]);
    link.href = `runs/${slug}/index.html`;
    row.cells[1].append(link);
    return row;
  }

  async function renew() {
    const news = await load("table.js", "table");
    const rows = new Map([...body.rows].map((row) => [row.dataset.run, row]));
    const changed = [];
    for (const { slug, fields } of news.rows) {
      const row = rows.get(slug) ?? newRow(slug, fields);
      const before = row.textContent;
      fill(row, fields);
      if (row.textContent !== before) changed.push(slug);
      rows.delete(slug);
    }
    for (const gone of rows.values()) gone.remove();
    for (const slug of changed) datas.delete(slug);
    at("count").textContent = `${news.rows.length.toLocaleString("en")} runs, ${news.going.toLocaleString("en")} of them going on`;
    document.dispatchEvent(new Event("rows"));
    if (changed.some((slug) => picked().includes(slug))) await draw();
    return news.version;
  }

  ticks().slice(0, FIRST).forEach((tick) => { tick.checked = true; });
  body.addEventListener("change", draw);
  at("metric").addEventListener("change", draw);
  at("over").addEventListener("change", draw);
  at("none").addEventListener("click", () => {
    for (const tick of ticks()) tick.checked = false;
    draw();
  });
  at("comparison").hidden = false;
  draw();
  watch("pulse.js", "", renew);
})();
