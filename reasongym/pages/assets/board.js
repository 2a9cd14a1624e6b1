"use strict";
(() => {
// Sorting and filtering of the tables. Without this script the page shows the same rows, in the order of their places.
const tables = [...document.querySelectorAll("table.board")];
const filter = document.getElementById("filter");
const ranked = document.getElementById("ranked");
const shown = document.getElementById("shown");

function key(row, column) {
  const cell = row.cells[column];
  const value = cell.dataset.value ?? cell.textContent;
  return value === "" ? null : Number.isNaN(Number(value)) ? value.toLowerCase() : Number(value);
}

function compare(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

// Rows without a value stay at the end, whichever way the others go.
function order(table, head, column) {
  const down = head.getAttribute("aria-sort") === "descending";
  const rows = [...table.tBodies[0].rows].map((row) => [key(row, column), row]);
  rows.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : down ? compare(b, a) : compare(a, b)));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

function sort(table, head, column) {
  const down = head.getAttribute("aria-sort") === "ascending" ||
    (head.getAttribute("aria-sort") === null && head.dataset.first === "down");
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  order(table, head, column);
}

function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  let total = 0;
  for (const table of tables) {
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = (ranked?.checked && row.classList.contains("unranked")) || !words.every((word) => text.includes(word));
      total += 1;
      count += !row.hidden;
    }
  }
  shown.textContent = count === total ? "" : `${count} of ${total} rows shown`;
}

for (const table of tables) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (head.dataset.first === undefined) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sort(table, head, column));
    head.replaceChildren(button);
  });
}
if (filter) {
  filter.addEventListener("input", applyFilter);
  ranked?.addEventListener("change", applyFilter);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.matches("input[type=search], select")) {
      event.preventDefault();
      filter.focus();
    }
  });
  document.getElementById("controls").hidden = false;
  applyFilter();
}
// Rows have come or changed: they go where they belong.
document.addEventListener("rows", () => {
  for (const table of tables) {
    const column = [...table.tHead.rows[0].cells].findIndex((head) => head.hasAttribute("aria-sort"));
    if (column >= 0) order(table, table.tHead.rows[0].cells[column], column);
  }
  applyFilter();
});
})();
