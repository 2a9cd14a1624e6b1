"use strict";
// The browser of answers. index.js names the files of answers, and for a result the verdict of each answer; a file is
// loaded when it is shown or searched. All text of a model is set as textContent: nothing of it is ever markup.
(() => {
const { at, button, element, load, visible } = window.page;
const PAGE = 25;
const KEPT = 60; // files in memory
const FIELDS = ["row", "number", "prompt", "reasoning", "completion", "reference", "extracted", "status", "score",
  "reason", "parts", "finish_reason", "tokens", "seconds"];
const VERDICTS = ["correct", "partial", "wrong", "unparsable", "timeout", "error", "missing"];

const further = new Map(); // name of a step's first file -> how many more it has
const loaded = new Map(); // name of a file -> promise of its answers, least recently used first
// files: {name, statuses} in the order they are walked, statuses null where only the file knows them. place: {file, row},
// where file is one of them. cursor: what the search comes to next.
const state = { files: [], over: "", chunk: 0, verdict: "", words: "", page: 0, found: [], cursor: 0, turn: 0, open: null,
  written: false };

// Of a result: the files of a string of verdicts. Of a run: those of its steps, in the order and from the step asked for.
function take(index) {
  if (index.statuses !== undefined) {
    const count = Math.ceil(index.statuses.length / index.chunk);
    state.chunk = index.chunk;
    state.files = Array.from({ length: count }, (_, number) =>
      ({ name: String(number), statuses: index.statuses.slice(number * index.chunk, (number + 1) * index.chunk) }));
  } else {
    state.over = index.over;
    state.named = index.files;
    arrange();
  }
}

const stepOf = (name) => Number(name.split("-")[0]);

function arrange() {
  const newest = at("order").value === "newest";
  const from = at("from").value === "" ? null : Number(at("from").value);
  const names = newest ? [...state.named].reverse() : state.named;
  state.files = names.filter((name) => from === null || (newest ? stepOf(name) <= from : stepOf(name) >= from))
    .flatMap((name) => [{ name, statuses: null }, ...others(name)]);
}

const others = (name) => Array.from({ length: further.get(name) ?? 0 },
  (_, number) => ({ name: `${stepOf(name)}-${number + 1}`, statuses: null }));

function rowsOf(file) {
  const known = loaded.get(file.name);
  const promise = known ?? load(`${file.name}.js`, file.name).then(({ rows, more }) => {
    if (more && !further.has(file.name)) follow(file.name, more);
    return rows.map((values) => Object.fromEntries(FIELDS.map((name, place) => [name, values[place]])));
  });
  loaded.delete(file.name);
  loaded.set(file.name, promise);
  if (!known) promise.catch(() => loaded.delete(file.name)); // so that it is tried again
  if (loaded.size > KEPT) loaded.delete(loaded.keys().next().value);
  return promise;
}

// The further files of a step, which only its first one knows of.
function follow(name, more) {
  further.set(name, more);
  const place = state.files.findIndex((file) => file.name === name);
  if (place >= 0) state.files.splice(place + 1, 0, ...others(name));
}

async function answer(place) {
  return (await rowsOf(place.file))[place.row];
}

function matches(one, words) {
  const text = `${one.row} ${one.prompt} ${one.reasoning} ${one.completion} ${one.extracted ?? ""} ${one.reference} ${one.reason}`;
  const small = text.toLowerCase();
  return words.every((word) => small.includes(word));
}

// The rows of a file that are looked for; the file is not loaded where its verdicts tell.
async function fitting(file, words) {
  if (file.statuses !== null) {
    const code = String(VERDICTS.indexOf(state.verdict));
    const rows = [...file.statuses].flatMap((sign, row) => (!state.verdict || sign === code ? [row] : []));
    if (!words.length || !rows.length) return rows;
    const answers = await rowsOf(file);
    return rows.filter((row) => matches(answers[row], words));
  }
  const answers = await rowsOf(file);
  return answers.flatMap((one, row) => ((!state.verdict || one.status === state.verdict) && matches(one, words) ? [row] : []));
}

// Fills state.found file by file: where verdicts are known and no words are looked for all of it, else until the page
// that is asked for and one answer more are found.
async function search(turn) {
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  const reads = words.length > 0 || state.over !== "";
  const wanted = reads ? (state.page + 1) * PAGE + 1 : Infinity;
  while (state.cursor < state.files.length && state.found.length < wanted) {
    const file = state.files[state.cursor];
    if (reads) for (const next of state.files.slice(state.cursor + 1, state.cursor + 4)) rowsOf(next).catch(() => {});
    const rows = await fitting(file, words);
    if (turn !== state.turn) return; // something else is asked for by now
    for (const row of rows) state.found.push({ file, row });
    state.cursor += 1;
    if (reads && state.cursor % 5 === 0) tell(`searched ${searched()}`);
  }
}

function searched() {
  if (state.over) return `${state.cursor.toLocaleString("en")} of ${state.files.length.toLocaleString("en")} files`;
  const total = state.files.reduce((sum, file) => sum + file.statuses.length, 0);
  return `${Math.min(state.cursor * state.chunk, total).toLocaleString("en")} of ${total.toLocaleString("en")}`;
}

function tell(text) {
  at("told").textContent = text;
}

async function show() {
  state.turn += 1;
  const turn = state.turn;
  try {
    await search(turn);
    if (turn !== state.turn) return;
    const places = state.found.slice(state.page * PAGE, (state.page + 1) * PAGE);
    const answers = await Promise.all(places.map(answer));
    if (turn !== state.turn) return;
    at("answers").replaceChildren(...answers.map((one, index) => line(one, places[index])));
    const done = state.cursor >= state.files.length;
    const first = state.page * PAGE;
    at("earlier").disabled = state.page === 0;
    at("later").disabled = state.found.length <= first + PAGE;
    const total = done ? `of ${state.found.length.toLocaleString("en")}` : `of more; searched ${searched()}`;
    tell(state.found.length === 0 ? "no answers" : `${first + 1} to ${first + places.length} ${total}`);
  } catch (error) {
    if (turn === state.turn) tell(error.message);
  }
}

const address = (place) => (state.over ? `${place.file.name}.${place.row}` : String(Number(place.file.name) * state.chunk + place.row));
const title = (one, place) => `${state.over ? `Step ${stepOf(place.file.name)}, row` : "Row"} ${one.row}, answer ${one.number + 1}`;

function line(one, place) {
  const item = document.createElement("li");
  const made = button("", () => open(place));
  made.dataset.place = address(place);
  const preview = one.extracted === null ? one.completion.slice(0, 160) : `${one.extracted.slice(0, 80)}  (expected ${one.reference.slice(0, 80)})`;
  const where = state.over ? `step ${stepOf(place.file.name)}` : `row ${one.row}${one.number ? `.${one.number}` : ""}`;
  made.append(element("span", where), element("span", one.status, `tag ${VERDICTS.includes(one.status) ? one.status : ""}`),
    element("span", preview.replace(/\s+/g, " "), "preview"));
  item.append(made);
  return item;
}

// The text with its formulas set, or as the model wrote it.
function words(name, value, set = window.typeset) {
  const made = element(name);
  const shown = visible(String(value));
  made.append(...(state.written ? [document.createTextNode(shown)] : set(shown)));
  return made;
}

function text(label, value, isOpen = true) {
  if (!value) return [];
  const block = words("pre", value);
  block.tabIndex = 0;
  block.setAttribute("role", "region");
  block.setAttribute("aria-label", label);
  if (isOpen) return [element("h3", label), block];
  const details = document.createElement("details");
  details.append(element("summary", label), block);
  return [details];
}

async function open(place) {
  try {
    const one = await answer(place);
    state.open = place;
    const facts = document.createElement("dl");
    const told = { verdict: one.status, score: one.score, extracted: one.extracted ?? "nothing", reference: one.reference,
      reason: one.reason, ended: one.finish_reason, tokens: one.tokens, seconds: one.seconds?.toFixed(2) };
    for (const [name, value] of Object.entries(told)) {
      if (value === null || value === undefined || value === "") continue;
      const isFormula = name === "extracted" || name === "reference";
      facts.append(element("dt", name), isFormula ? words("dd", value, window.typesetWhole) : element("dd", value));
    }
    const head = element("h3", title(one, place));
    head.tabIndex = -1;
    at("answer").replaceChildren(head, button("Close (Esc)", shut), facts, ...text("Prompt", one.prompt),
      ...text("Reasoning", one.reasoning, false), ...text("Completion", one.completion), ...text("All reward parts", one.parts, false));
    at("answer").hidden = false;
    head.focus();
    at("answer").scrollIntoView({ block: "nearest" });
    history.replaceState(null, "", `#${address(place)}`);
  } catch (error) {
    tell(error.message);
  }
}

function shut() {
  at("answer").hidden = true;
  history.replaceState(null, "", location.pathname);
  document.querySelector(`#answers button[data-place="${CSS.escape(address(state.open))}"]`)?.focus();
  state.open = null;
}

function ask(change) {
  Object.assign(state, { page: 0, found: [], cursor: 0 }, change);
  for (const one of at("verdicts").children) one.setAttribute("aria-pressed", String(one.value === state.verdict));
  show();
}

function turnPage(by) {
  state.page = Math.max(0, state.page + by);
  show();
}

// j and k: the next and the previous answer of those found.
function step(by) {
  const here = state.open === null ? -1 : state.found.findIndex((one) => address(one) === address(state.open));
  const next = state.found[here < 0 ? state.page * PAGE : here + by];
  if (next !== undefined) open(next);
}

function toggle() {
  state.written = !state.written;
  at("typeset").setAttribute("aria-pressed", String(!state.written));
  if (state.open !== null) open(state.open);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && state.open !== null) shut();
  if (event.target.matches("input, select, .plot")) return;
  const actions = { j: () => step(1), k: () => step(-1), n: () => at("later").click(), p: () => at("earlier").click(),
    f: toggle, "/": () => at("search").focus() };
  if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
}

function buttons() {
  const counts = new Map();
  for (const file of state.files) for (const sign of file.statuses ?? "") counts.set(sign, (counts.get(sign) ?? 0) + 1);
  const total = state.files.reduce((sum, file) => sum + (file.statuses?.length ?? 0), 0);
  const made = [["", state.over ? "all" : `all ${total.toLocaleString("en")}`]];
  VERDICTS.forEach((name, place) => {
    const count = counts.get(String(place));
    if (state.over && name !== "missing") made.push([name, name]);
    else if (count) made.push([name, `${name} ${count.toLocaleString("en")}`]);
  });
  at("verdicts").replaceChildren(...made.map(([value, label]) => {
    const one = button(label, () => ask({ verdict: value }));
    one.value = value;
    return one;
  }));
}

// The answer that the address names: a number of a result, or FILE.ROW of a run.
async function openAddressed() {
  const wanted = location.hash.slice(1);
  if (!state.over) {
    const number = Number(wanted);
    const file = state.files[Math.floor(number / state.chunk)];
    if (wanted && Number.isInteger(number) && file && number % state.chunk < file.statuses.length) open({ file, row: number % state.chunk });
    return;
  }
  const [, name, row] = wanted.match(/^(\d+-\d+)\.(\d+)$/) ?? [];
  if (!name || !state.named.includes(`${stepOf(name)}-0`)) return;
  const file = state.files.find((one) => one.name === name) ?? { name, statuses: null };
  if (Number(row) < (await rowsOf(file)).length) open({ file, row: Number(row) });
}

// A run that goes on has more steps: they are offered, so that what is being read does not move.
async function news() {
  const index = await load("index.js", "index");
  const more = index.files.length - state.named.length;
  const isUntouched = state.open === null && state.page === 0 && at("order").value === "newest" && !document.activeElement?.closest("#browser");
  state.named = index.files;
  if (more > 0 && isUntouched) {
    arrange();
    ask({});
  } else if (more > 0) tell(`${more.toLocaleString("en")} newer steps: choose the order again to see them`);
}

function timeControls() {
  for (const id of ["from", "order"]) {
    at(id).addEventListener("change", () => {
      arrange();
      ask({});
    });
  }
  const steps = state.named.map(stepOf);
  at("from").max = Math.max(...steps.slice(-1), 0);
  at("from").placeholder = steps.length ? `${steps[0]} to ${steps.at(-1)}` : "";
  document.addEventListener("news", () => news().catch((error) => tell(error.message)));
}

async function start() {
  take(await load("index.js", "index"));
  buttons();
  if (state.over) timeControls();
  let typed;
  at("search").addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => ask({ words: at("search").value }), 150);
  });
  at("earlier").addEventListener("click", () => turnPage(-1));
  at("later").addEventListener("click", () => turnPage(1));
  at("typeset").addEventListener("click", toggle);
  document.addEventListener("keydown", onKey);
  at("browser").hidden = false;
  ask({});
  await openAddressed();
}

if (at("browser")) start().catch((error) => { at("failed").textContent = error.message; });
})();
