"use strict";
// The answers of one result. index.js gives the verdict of each, N.js the answers themselves, CHUNK to a file, loaded
// when they are shown or searched. All text of a model is set as textContent: nothing of it is ever markup.
const PAGE = 25;
const KEPT = 60; // files in memory
const FIELDS = ["row", "number", "prompt", "reasoning", "completion", "reference", "extracted", "status", "score",
  "reason", "parts", "finish_reason", "tokens", "seconds"];
const VERDICTS = ["correct", "partial", "wrong", "unparsable", "timeout", "error", "missing"];
const LOAD_MS = 30000;

const at = (id) => document.getElementById(id);
const files = new Map(); // number -> promise of its answers, least recently used first
const waiting = new Map(); // number -> what a loaded file is handed to
const state = { statuses: "", chunk: 100, verdict: "", words: "", page: 0, found: [], searched: 0, turn: 0, open: null };

window.answersIndex = (index) => Object.assign(state, index);
window.answersFile = (number, rows) => waiting.get(number)?.(rows);

function load(source, number) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const end = (settle, value) => {
      clearTimeout(timer);
      waiting.delete(number);
      script.remove();
      settle(value);
    };
    const timer = setTimeout(() => end(reject, new Error(`${source} does not load`)), LOAD_MS);
    let given;
    waiting.set(number, (rows) => { given = rows; });
    script.addEventListener("load", () => end(resolve, given));
    script.addEventListener("error", () => end(reject, new Error(`${source} cannot be loaded`)));
    script.src = source;
    document.head.append(script);
  });
}

function file(number) {
  const known = files.get(number);
  const promise = known ?? load(`${number}.js`, number).then((rows) =>
    rows.map((values) => Object.fromEntries(FIELDS.map((name, place) => [name, values[place]]))));
  files.delete(number);
  files.set(number, promise);
  if (!known) promise.catch(() => files.delete(number)); // so that it is tried again
  if (files.size > KEPT) files.delete(files.keys().next().value);
  return promise;
}

async function answer(place) {
  return (await file(Math.floor(place / state.chunk)))[place % state.chunk];
}

// What acts instead of showing (controls, bidirectional overrides) as its escape.
function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function element(name, text = "", kind = "") {
  const made = document.createElement(name);
  made.textContent = visible(String(text));
  if (kind) made.className = kind;
  return made;
}

function matches(one, words) {
  const text = `${one.row} ${one.prompt} ${one.reasoning} ${one.completion} ${one.extracted ?? ""} ${one.reference} ${one.reason}`;
  const small = text.toLowerCase();
  return words.every((word) => small.includes(word));
}

// Files that a search comes to next, on their way while it reads this one.
function ahead(number) {
  const last = Math.ceil(state.statuses.length / state.chunk) - 1;
  for (let next = number; next <= Math.min(number + 3, last); next += 1) file(next).catch(() => {});
}

// Fills state.found: by verdict all of it; where words are looked for, file by file, until the page that is asked for
// and one answer more are found.
async function search(turn) {
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = words.length ? (state.page + 1) * PAGE + 1 : Infinity;
  for (let place = state.searched; place < state.statuses.length && state.found.length < wanted; place += 1) {
    if (words.length && place % state.chunk === 0) ahead(place / state.chunk + 1);
    if (!state.verdict || VERDICTS[state.statuses.charCodeAt(place) - 48] === state.verdict) {
      const fits = !words.length || matches(await answer(place), words);
      if (turn !== state.turn) return; // something else is asked for by now
      if (fits) state.found.push(place);
      if (words.length && place % 500 === 0) tell(`searched ${place.toLocaleString("en")} of ${state.statuses.length.toLocaleString("en")}`);
    }
    state.searched = place + 1;
  }
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
    const done = state.searched >= state.statuses.length;
    const first = state.page * PAGE;
    at("earlier").disabled = state.page === 0;
    at("later").disabled = state.found.length <= first + PAGE;
    const total = done ? `of ${state.found.length.toLocaleString("en")}` :
      `of more; searched ${state.searched.toLocaleString("en")} of ${state.statuses.length.toLocaleString("en")}`;
    tell(state.found.length === 0 ? "no answers" : `${first + 1} to ${first + places.length} ${total}`);
  } catch (error) {
    if (turn === state.turn) tell(error.message);
  }
}

function line(one, place) {
  const item = document.createElement("li");
  const button = element("button");
  button.type = "button";
  button.dataset.place = place;
  const preview = one.extracted === null ? one.completion.slice(0, 160) : `${one.extracted.slice(0, 80)}  (expected ${one.reference.slice(0, 80)})`;
  button.append(element("span", `row ${one.row}${one.number ? `.${one.number}` : ""}`),
    element("span", one.status, `tag ${VERDICTS.includes(one.status) ? one.status : ""}`),
    element("span", preview.replace(/\s+/g, " "), "preview"));
  button.addEventListener("click", () => open(place));
  item.append(button);
  return item;
}

function text(label, value, isOpen = true) {
  if (!value) return [];
  if (isOpen) return [element("h3", label), element("pre", value)];
  const details = document.createElement("details");
  details.append(element("summary", label), element("pre", value));
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
      if (value !== null && value !== undefined && value !== "") facts.append(element("dt", name), element("dd", value));
    }
    const head = element("h3", `Row ${one.row}, answer ${one.number + 1}`);
    head.tabIndex = -1;
    const close = element("button", "Close (Esc)");
    close.type = "button";
    close.addEventListener("click", shut);
    at("answer").replaceChildren(head, close, facts, ...text("Prompt", one.prompt), ...text("Reasoning", one.reasoning, false),
      ...text("Completion", one.completion), ...text("All reward parts", one.parts, false));
    at("answer").hidden = false;
    head.focus();
    at("answer").scrollIntoView({ block: "nearest" });
    history.replaceState(null, "", `#${place}`);
  } catch (error) {
    tell(error.message);
  }
}

function shut() {
  at("answer").hidden = true;
  history.replaceState(null, "", location.pathname);
  document.querySelector(`#answers button[data-place="${state.open}"]`)?.focus();
  state.open = null;
}

function ask(change) {
  Object.assign(state, { page: 0, found: [], searched: 0 }, change);
  for (const button of at("verdicts").children) button.setAttribute("aria-pressed", String(button.value === state.verdict));
  show();
}

function turnPage(by) {
  state.page = Math.max(0, state.page + by);
  show();
}

// j and k: the next and the previous answer of those found.
function step(by) {
  const here = state.found.indexOf(state.open);
  const next = state.found[here < 0 ? state.page * PAGE : here + by];
  if (next !== undefined) open(next);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && state.open !== null) shut();
  if (event.target.tagName === "INPUT") return;
  const actions = { j: () => step(1), k: () => step(-1), n: () => at("later").click(), p: () => at("earlier").click(),
    "/": () => at("search").focus() };
  if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
}

function buttons() {
  const counts = new Map();
  for (const sign of state.statuses) counts.set(sign, (counts.get(sign) ?? 0) + 1);
  const made = [["", `all ${state.statuses.length.toLocaleString("en")}`]];
  VERDICTS.forEach((name, place) => {
    const count = counts.get(String(place));
    if (count) made.push([name, `${name} ${count.toLocaleString("en")}`]);
  });
  at("verdicts").replaceChildren(...made.map(([value, label]) => {
    const button = element("button", label);
    button.type = "button";
    button.value = value;
    button.addEventListener("click", () => ask({ verdict: value }));
    return button;
  }));
}

async function start() {
  await load("index.js", "index");
  buttons();
  let typed;
  at("search").addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => ask({ words: at("search").value }), 150);
  });
  at("earlier").addEventListener("click", () => turnPage(-1));
  at("later").addEventListener("click", () => turnPage(1));
  document.addEventListener("keydown", onKey);
  at("browser").hidden = false;
  ask({});
  const place = Number(location.hash.slice(1));
  if (location.hash && Number.isInteger(place) && place >= 0 && place < state.statuses.length) open(place);
}

if (at("browser")) start().catch((error) => { at("failed").textContent = error.message; });
