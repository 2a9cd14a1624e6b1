"use strict";
// What the other scripts share. All text of a model or a run is set as textContent: nothing of it is ever markup.
window.page = (() => {
  const LOAD_MS = 30000;
  const waiting = new Map(); // key -> what a loaded file is handed to

  const at = (id) => document.getElementById(id);

  // What acts instead of showing (controls, bidirectional overrides) as its escape.
  function visible(text) {
    return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
      (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }

  function element(name, text = "", kind = "") {
    const made = document.createElement(name);
    made.textContent = visible(String(text));
    if (kind) made.className = kind;
    return made;
  }

  function button(text, act) {
    const made = element("button", text);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  }

  // A file of data is a script that calls `given`: a page opened from disk may load nothing else.
  function load(source, key) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const end = (settle, value) => {
        clearTimeout(timer);
        waiting.delete(key);
        script.remove();
        settle(value);
      };
      const timer = setTimeout(() => end(reject, new Error(`${source} does not load`)), LOAD_MS);
      let given;
      waiting.set(key, (value) => { given = value; });
      script.addEventListener("load", () => (given === undefined ? end(reject, new Error(`${source} holds nothing`)) : end(resolve, given)));
      script.addEventListener("error", () => end(reject, new Error(`${source} cannot be loaded`)));
      script.src = source;
      document.head.append(script);
    });
  }

  function given(key, value) {
    waiting.get(String(key))?.(value);
  }

  // Asks every few seconds whether something has changed; tells when nothing answers any more.
  function watch(source, version, renew) {
    const PERIOD_MS = 4000;
    const told = at("live");
    if (!told?.dataset.live) return;
    let known = version;
    const ask = async () => {
      try {
        if (document.hidden) return;
        const seen = await load(source, "pulse");
        told.classList.remove("lost");
        told.textContent = "renews itself while runs go on";
        if (seen === known) return;
        known = await renew(seen);
      } catch (error) {
        told.classList.add("lost");
        told.textContent = "the server does not answer: what is shown is no longer renewed";
      } finally {
        setTimeout(ask, PERIOD_MS);
      }
    };
    setTimeout(ask, PERIOD_MS);
  }

  return { at, button, element, given, load, visible, watch };
})();
window.given = window.page.given;
window.answersIndex = (index) => window.page.given("index", index);
window.answersFile = (name, rows, more = 0) => window.page.given(name, { rows, more });
