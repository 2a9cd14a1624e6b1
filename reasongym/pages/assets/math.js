"use strict";
// Formulas of a common part of TeX as MathML. What is not of that part stays as the model wrote it. Elements are made one
// by one and text is set as textContent: a formula can hold no markup, no address and no command that acts.
window.typeset = (() => {
  const MATHML = "http://www.w3.org/1998/Math/MathML";
  const LONGEST = 3000; // characters of one formula
  const MOST = 400; // formulas of one text
  const DEEPEST = 24;
  const CLOSERS = { "\\[": "\\]", "\\(": "\\)", "$$": "$$" };
  const table = (entries) => Object.assign(Object.create(null), entries); // \constructor is no name of ours
  const SYMBOLS = table({
    alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ϵ", varepsilon: "ε", zeta: "ζ", eta: "η", theta: "θ",
    vartheta: "ϑ", iota: "ι", kappa: "κ", lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ",
    tau: "τ", upsilon: "υ", phi: "ϕ", varphi: "φ", chi: "χ", psi: "ψ", omega: "ω", Gamma: "Γ", Delta: "Δ", Theta: "Θ",
    Lambda: "Λ", Xi: "Ξ", Pi: "Π", Sigma: "Σ", Upsilon: "Υ", Phi: "Φ", Psi: "Ψ", Omega: "Ω", infty: "∞", ell: "ℓ",
    hbar: "ℏ", emptyset: "∅", varnothing: "∅", Re: "ℜ", Im: "ℑ", aleph: "ℵ", partial: "∂", nabla: "∇", degree: "°",
  });
  const OPERATORS = table({
    times: "×", cdot: "⋅", div: "÷", pm: "±", mp: "∓", ast: "∗", star: "⋆", circ: "∘", bullet: "∙", oplus: "⊕",
    otimes: "⊗", le: "≤", leq: "≤", leqslant: "≤", ge: "≥", geq: "≥", geqslant: "≥", ne: "≠", neq: "≠", approx: "≈",
    equiv: "≡", cong: "≅", sim: "∼", simeq: "≃", propto: "∝", ll: "≪", gg: "≫", in: "∈", notin: "∉", ni: "∋",
    subset: "⊂", subseteq: "⊆", supset: "⊃", supseteq: "⊇", cup: "∪", cap: "∩", setminus: "∖", land: "∧", wedge: "∧",
    lor: "∨", vee: "∨", neg: "¬", lnot: "¬", forall: "∀", exists: "∃", to: "→", rightarrow: "→", leftarrow: "←",
    leftrightarrow: "↔", Rightarrow: "⇒", Leftarrow: "⇐", Leftrightarrow: "⇔", implies: "⟹", iff: "⟺", mapsto: "↦",
    longrightarrow: "⟶", mid: "∣", nmid: "∤", parallel: "∥", perp: "⊥", angle: "∠", triangle: "△", ldots: "…",
    dots: "…", cdots: "⋯", vdots: "⋮", ddots: "⋱", therefore: "∴", because: "∵", prime: "′", lfloor: "⌊", rfloor: "⌋",
    lceil: "⌈", rceil: "⌉", langle: "⟨", rangle: "⟩", vert: "|", lvert: "|", rvert: "|", Vert: "‖", lVert: "‖",
    rVert: "‖", colon: ":", lbrace: "{", rbrace: "}", backslash: "\\", checkmark: "✓", square: "□", blacksquare: "■",
  });
  const LARGE = table({ sum: "∑", prod: "∏", int: "∫", iint: "∬", oint: "∮", bigcup: "⋃", bigcap: "⋂" });
  const NAMES = new Set(["sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
    "log", "ln", "lg", "exp", "det", "dim", "ker", "deg", "gcd", "lcm", "arg", "max", "min", "sup", "inf", "lim", "Pr"]);
  const UNDER = new Set(["lim", "max", "min", "sup", "inf"]);
  const SPACES = table({ ",": 0.17, ":": 0.22, ">": 0.22, ";": 0.28, " ": 0.28, "!": -0.17, "~": 0.28, quad: 1, qquad: 2, enspace: 0.5, thinspace: 0.17 });
  const ACCENTS = table({ hat: "^", widehat: "^", bar: "¯", overline: "¯", vec: "→", overrightarrow: "→", tilde: "~", widetilde: "~", dot: "˙", ddot: "¨" });
  const VARIANTS = table({ mathbf: "bold", boldsymbol: "bold", bm: "bold", mathbb: "double", mathcal: "", mathit: "", mathsf: "", mathfrak: "", mathscr: "" });
  const DOUBLE = table({ C: "ℂ", H: "ℍ", N: "ℕ", P: "ℙ", Q: "ℚ", R: "ℝ", Z: "ℤ" });
  const TEXTS = new Set(["text", "textbf", "textit", "textrm", "textsf", "texttt", "mbox", "mathrm", "operatorname", "mathop"]);
  const FRACTIONS = new Set(["frac", "dfrac", "tfrac", "cfrac"]);
  const TABLES = table({ matrix: ["", ""], smallmatrix: ["", ""], pmatrix: ["(", ")"], bmatrix: ["[", "]"], Bmatrix: ["{", "}"], vmatrix: ["|", "|"], Vmatrix: ["‖", "‖"],
    cases: ["{", ""], aligned: ["", ""], align: ["", ""], "align*": ["", ""], gathered: ["", ""], gather: ["", ""], "gather*": ["", ""], split: ["", ""], array: ["", ""], equation: ["", ""], "equation*": ["", ""] });
  const IGNORED = new Set(["displaystyle", "textstyle", "scriptstyle", "limits", "nolimits", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "biggl", "biggr", "Biggl", "Biggr", "nonumber", "notag", "hline", "rm", "bf"]);

  class NotOfThisPart extends Error {}

  function make(name, children = [], about = {}) {
    const made = document.createElementNS(MATHML, name);
    if (typeof children === "string") made.textContent = children;
    else made.append(...children);
    for (const [key, value] of Object.entries(about)) made.setAttribute(key, value);
    return made;
  }
  const row = (parts) => (parts.length === 1 ? parts[0] : make("mrow", parts));
  const fence = (sign) => make("mo", sign, { stretchy: "true", fence: "true" });

  // [kind, text] of each token: command, sign, number, letter, space.
  function tokens(tex) {
    const found = [];
    const pattern = /\\([A-Za-z]+\*?|[^])|%[^\n]*|(\s+)|(\d+(?:[.,]\d+)*\.?(?!\d)|\.\d+)|([^])/gu;
    for (const [whole, command, space, number, other] of tex.matchAll(pattern)) {
      if (command !== undefined) found.push(["command", command]);
      else if (space !== undefined) found.push(["space", " "]);
      else if (number !== undefined) found.push(...(/[.,]$/.test(number) ? [["number", number.slice(0, -1)], ["sign", number.slice(-1)]] : [["number", number]]));
      else if (other !== undefined) found.push([/\p{L}/u.test(other) ? "letter" : "sign", other]);
      else if (whole[0] === "%") throw new NotOfThisPart("a comment");
    }
    return found;
  }

  class Parser {
    constructor(tex) {
      this.tokens = tokens(tex);
      this.place = 0;
      this.depth = 0;
    }

    get next() {
      return this.tokens[this.place] ?? ["end", ""];
    }

    take() {
      const token = this.next;
      this.place += 1;
      return token;
    }

    is(kind, text) {
      return this.next[0] === kind && this.next[1] === text;
    }

    skipSpace() {
      while (this.next[0] === "space") this.place += 1;
    }

    expect(kind, text) {
      this.skipSpace();
      if (!this.is(kind, text)) throw new NotOfThisPart(`${text} is missing`);
      this.place += 1;
    }

    deeper(parse) {
      this.depth += 1;
      if (this.depth > DEEPEST) throw new NotOfThisPart("too deep");
      const parsed = parse();
      this.depth -= 1;
      return parsed;
    }

    whole() {
      const parts = this.parts(() => false);
      if (this.next[0] !== "end") throw new NotOfThisPart(`${this.next[1]} too many`);
      if (parts.length === 0) throw new NotOfThisPart("nothing");
      return parts;
    }

    // Up to what `ends`, or a brace, a cell or a line that was begun elsewhere.
    parts(ends) {
      return this.deeper(() => {
        const parts = [];
        for (;;) {
          this.skipSpace();
          const [kind, text] = this.next;
          const isEnd = kind === "end" || (kind === "sign" && (text === "}" || text === "&")) ||
            (kind === "command" && (text === "\\" || text === "end" || text === "right"));
          if (isEnd || ends()) return parts;
          parts.push(...this.scripted());
        }
      });
    }

    group() {
      this.skipSpace();
      if (!this.is("sign", "{")) {
        if (this.next[0] === "number" && this.next[1].length > 1) { // \frac12 is one over two
          const [first, rest] = [this.next[1][0], this.next[1].slice(1)];
          this.tokens[this.place] = ["number", rest];
          return make("mn", first);
        }
        return row(this.deeper(() => this.atom()));
      }
      this.place += 1;
      const parts = this.parts(() => false);
      this.expect("sign", "}");
      return make("mrow", parts);
    }

    // The letters of {...} as they stand: text and names hold no formula.
    words() {
      this.expect("sign", "{");
      let text = "";
      let open = 1;
      for (;;) {
        const [kind, sign] = this.take();
        if (kind === "end") throw new NotOfThisPart("} is missing");
        if (kind === "sign" && sign === "{") open += 1;
        if (kind === "sign" && sign === "}") open -= 1;
        if (open === 0) return text;
        if (kind === "command" && !/^[%$&#_{} ,]$/.test(sign)) throw new NotOfThisPart(`\\${sign} in text`);
        if (kind === "sign" && (sign === "{" || sign === "}")) continue;
        text += sign;
      }
    }

    scripted() {
      const base = this.atom();
      let below = null;
      let above = null;
      for (;;) {
        this.skipSpace();
        if (this.is("sign", "_") && !below) {
          this.place += 1;
          below = this.group();
        } else if (this.is("sign", "^") && !above) {
          this.place += 1;
          above = this.group();
        } else if (this.is("sign", "'") && !above) {
          let primes = "";
          while (this.is("sign", "'")) primes += (this.place += 1) && "′";
          above = make("mo", primes);
        } else if ((this.is("command", "limits") || this.is("command", "nolimits"))) {
          this.place += 1;
        } else break;
      }
      if (!below && !above) return base;
      if (this.is("sign", "^") || this.is("sign", "_")) throw new NotOfThisPart("two scripts");
      if (base.length === 0) base.push(make("mrow"));
      const last = base.pop();
      const isLarge = last.localName === "mo" && last.getAttribute("largeop") === "true" && last.textContent !== "∫";
      const under = isLarge || (last.localName === "mi" && UNDER.has(last.textContent));
      const name = under ? (below && above ? "munderover" : below ? "munder" : "mover") : (below && above ? "msubsup" : below ? "msub" : "msup");
      return [...base, make(name, [last, below, above].filter(Boolean))];
    }

    atom() {
      const [kind, text] = this.take();
      if (kind === "number") return [make("mn", text)];
      if (kind === "letter") return [make("mi", text)];
      if (kind === "command") return this.command(text);
      if (kind !== "sign") throw new NotOfThisPart("something is missing");
      if (text === "{") {
        const parts = this.parts(() => false);
        this.expect("sign", "}");
        return [make("mrow", parts)];
      }
      if ("}&#_^$".includes(text)) {
        if (text === "^" || text === "_") {
          this.place -= 1;
          return [];
        }
        throw new NotOfThisPart(`${text} has no place here`);
      }
      if (text === "-") return [make("mo", "−")];
      if (text === "~") return [this.space(0.28)];
      if (text === "'") return [make("mo", "′")];
      return [make("mo", text, "()[]|".includes(text) ? { stretchy: "false" } : {})];
    }

    space(ems) {
      return make("mspace", [], { width: `${ems}em` });
    }

    command(name) {
      if (name in SYMBOLS) return [make("mi", SYMBOLS[name])];
      if (name in OPERATORS) return [make("mo", OPERATORS[name], { stretchy: "false" })];
      if (name in LARGE) return [make("mo", LARGE[name], { largeop: "true" })];
      if (NAMES.has(name)) return [make("mi", name)];
      if (name in SPACES) return [this.space(SPACES[name])];
      if (IGNORED.has(name)) return [];
      if ("{}%$&#_".includes(name)) return [make("mo", name, { stretchy: "false" })];
      if (name === "|") return [make("mo", "‖", { stretchy: "false" })];
      if (FRACTIONS.has(name)) return [make("mfrac", [this.group(), this.group()])];
      if (name === "binom" || name === "dbinom" || name === "tbinom") return [fence("("), make("mfrac", [this.group(), this.group()], { linethickness: "0" }), fence(")")];
      if (name === "sqrt") return [this.root()];
      if (name === "boxed" || name === "fbox") return [make("mrow", [this.group()], { class: "boxed" })];
      if (TEXTS.has(name)) return this.is("command", "left") ? [] : [make(name === "operatorname" ? "mi" : "mtext", this.words().replaceAll(" ", "\u00a0"))];
      if (name in ACCENTS) return [make("mover", [this.group(), make("mo", ACCENTS[name], { stretchy: String(/line|wide|arrow/.test(name)) })], { accent: "true" })];
      if (name === "underline") return [make("munder", [this.group(), make("mo", "_", { stretchy: "true" })])];
      if (name === "underbrace") return [make("munder", [this.group(), make("mo", "⏟", { stretchy: "true" })])];
      if (name === "overset" || name === "stackrel") return [this.stacked("mover")];
      if (name === "underset") return [this.stacked("munder")];
      if (name in VARIANTS) return [this.variant(VARIANTS[name])];
      if (name === "not") return [this.negated()];
      if (name === "bmod" || name === "mod") return [this.space(0.28), make("mi", "mod"), this.space(0.28)];
      if (name === "pmod") return [this.space(0.5), make("mo", "("), make("mi", "mod"), this.space(0.28), this.group(), make("mo", ")")];
      if (name === "left") return this.fenced();
      if (name === "middle") return [this.delimiter()];
      if (name === "begin") return this.table();
      throw new NotOfThisPart(`\\${name}`);
    }

    root() {
      this.skipSpace();
      if (!this.is("sign", "[")) return make("msqrt", [this.group()]);
      this.place += 1;
      const degree = row(this.parts(() => this.is("sign", "]")));
      this.expect("sign", "]");
      return make("mroot", [this.group(), degree]);
    }

    stacked(name) {
      const other = this.group();
      return make(name, [this.group(), other]);
    }

    variant(kind) {
      const inner = this.group();
      if (kind === "double") {
        for (const one of [inner, ...inner.querySelectorAll("*")]) {
          if (one.children.length === 0 && DOUBLE[one.textContent]) one.textContent = DOUBLE[one.textContent];
        }
      }
      if (kind === "bold") inner.setAttribute("class", "bold");
      return inner;
    }

    negated() {
      this.skipSpace();
      const [kind, text] = this.take();
      const sign = kind === "command" ? OPERATORS[text] : kind === "sign" ? text : undefined;
      if (sign === undefined || sign.length !== 1 || "{}&".includes(sign)) throw new NotOfThisPart("\\not");
      return make("mo", `${sign}\u0338`);
    }

    delimiter() {
      this.skipSpace();
      const [kind, text] = this.take();
      if (kind === "sign" && text === ".") return fence("");
      if (kind === "sign" && "()[]|/<>".includes(text)) return fence(text === "<" ? "⟨" : text === ">" ? "⟩" : text);
      if (kind === "command" && (text === "{" || text === "}")) return fence(text);
      if (kind === "command" && text === "|") return fence("‖");
      if (kind === "command" && OPERATORS[text]) return fence(OPERATORS[text]);
      throw new NotOfThisPart("a delimiter is missing");
    }

    fenced() {
      const open = this.delimiter();
      const parts = this.parts(() => false);
      this.expect("command", "right");
      return [make("mrow", [open, ...parts, this.delimiter()])];
    }

    table() {
      const name = this.words();
      if (!(name in TABLES)) throw new NotOfThisPart(name);
      if (name === "array") this.words(); // how its columns stand
      const rows = [[]];
      for (;;) {
        rows.at(-1).push(make("mtd", [make("mrow", this.parts(() => false))]));
        const [kind, text] = this.take();
        if (kind === "command" && text === "\\") rows.push([]);
        else if (kind === "command" && text === "end") break;
        else if (kind !== "sign" || text !== "&") throw new NotOfThisPart("\\end is missing");
      }
      if (this.words() !== name) throw new NotOfThisPart("another \\end");
      if (rows.at(-1).length === 1 && rows.at(-1)[0].textContent === "") rows.pop();
      const [open, close] = TABLES[name];
      const made = make("mtable", rows.map((cells) => make("mtr", cells)), name === "cases" || name.startsWith("align") || name === "split" ? { class: "lefted" } : {});
      return [make("mrow", [...(open ? [fence(open)] : []), made, ...(close ? [fence(close)] : [])])];
    }
  }

  // The <math> of a formula, or null where it is not of the part that is known here.
  function formula(tex, isBlock) {
    if (tex.length > LONGEST) return null;
    try {
      const parts = new Parser(tex).whole();
      const made = make("math", parts, isBlock ? { display: "block" } : {});
      made.setAttribute("aria-label", tex.trim());
      return made;
    } catch (error) {
      if (error instanceof NotOfThisPart) return null;
      throw error;
    }
  }

  // Where \boxed{...} ends that begins at `start`; -1 where it does not.
  function endOfBox(text, start) {
    let open = 0;
    for (let end = start + 6; end < Math.min(text.length, start + LONGEST); end += 1) {
      if (text[end] === "\\") end += 1;
      else if (text[end] === "{") open += 1;
      else if (text[end] === "}" && (open -= 1) === 0) return end + 1;
    }
    return -1;
  }

  // The end of $...$ that begins at `start`: on one line, and so that "$5 and $10" is none. [end or -1, where to go on].
  function endOfDollars(text, start) {
    if (/[\\$\w]/.test(text[start - 1] ?? "") || /\s/.test(text[start + 1] ?? " ")) return [-1, start + 1];
    for (let end = start + 1; end < Math.min(text.length, start + LONGEST); end += 1) {
      if (text[end] === "\n") return [-1, end];
      if (text[end] === "\\") end += 1;
      else if (text[end] === "$") {
        return /\s/.test(text[end - 1]) || /[\d$]/.test(text[end + 1] ?? "") ? [-1, end] : [end + 1, end + 1];
      }
    }
    return [-1, start + 1];
  }

  // [start, end, tex, whether a block] of what may be a formula. Each part of the text is looked at a bounded number of
  // times, whatever stands in it.
  function* places(text) {
    const closers = new Map(); // closer -> its next place, so that a thousand openers without one search once
    let [done, noDollar] = [0, 0]; // up to where there is a formula; up to where a single $ begins none
    for (const { 0: opener, index } of text.matchAll(/\\[[(]|\$\$?|\\boxed\s*\{/g)) {
      if (index < done || (opener === "$" && index < noDollar)) continue;
      let [end, tex] = [-1, ""];
      if (opener in CLOSERS) {
        const closer = CLOSERS[opener];
        let place = closers.get(closer) ?? -1;
        if (place < index + 2) {
          place = text.indexOf(closer, index + 2);
          if (place < 0) place = Infinity;
          closers.set(closer, place);
        }
        if (place - index <= LONGEST) [end, tex] = [place + 2, text.slice(index + 2, place)];
      } else if (opener === "$") {
        const [found, goOn] = endOfDollars(text, index);
        if (found > 0) [end, tex] = [found, text.slice(index + 1, found - 1)];
        else noDollar = goOn;
      } else {
        end = endOfBox(text, index);
        tex = text.slice(index, end);
      }
      if (end < 0) continue;
      done = end;
      yield [index, end, tex, opener === "\\[" || opener === "$$"];
    }
  }

  // Nodes for a text: formulas between $, $$, \( \), \[ \], and \boxed{}; everything else as text.
  return function typeset(text) {
    const nodes = [];
    let [done, tried] = [0, 0];
    for (const [start, end, tex, isBlock] of places(text)) {
      if (start < done) continue;
      tried += 1;
      if (tried > MOST) break;
      const made = formula(tex, isBlock);
      if (!made) continue;
      nodes.push(document.createTextNode(text.slice(done, start)), made);
      done = end;
    }
    nodes.push(document.createTextNode(text.slice(done)));
    return nodes;
  };
})();
// A whole text that is one formula without delimiters, as references and extracted answers are.
window.typesetWhole = (text) => {
  if (!/\\[A-Za-z]|[\^_]\S/.test(text) || /[$\n]|\\[()[\]]/.test(text)) return window.typeset(text);
  const nodes = window.typeset(`\\(${text}\\)`);
  return nodes.some((node) => node.nodeType === Node.ELEMENT_NODE) ? nodes : [document.createTextNode(text)];
};
