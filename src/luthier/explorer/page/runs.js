// The table of runs found in folders: sort, choose, put weights side by side, open; what runs is followed.

import { announce, button, byId, complain, element, fill } from "./elements.js";
import { csvButton } from "./export.js";
import { askOnce } from "./server.js";

const SECONDS = 2, MOST_CHOSEN = 8;
const COLUMNS = [
  ["name", "run", "Where the record of the run stands, below the folders that were named"],
  ["when", "when", "When it ended, or began if it still runs"],
  ["tuner", "tuner", "The method that looked for the weights"],
  ["metric", "metric", "What the weights were tuned for"],
  ["tuned", "tuned", "The score on the sentences it was tuned on, and what that adds to the best baseline there: it flatters"],
  ["unseen", "unseen", "The score on sentences that no weights have seen, held out or by folds, and what that adds to the baseline"],
  ["sentences", "sentences", "How many sentences it was tuned on"],
  ["seed", "seed", "Where its random numbers begin"],
];
let rows = [], sorted = { column: "when", down: true }, search = "", latest = "";
const chosen = new Set();
let body, foot, note, heads, timer = 0;

export function showRuns() {
  byId("layout").hidden = true;
  byId("runs").hidden = false;
  document.title = "Runs · Luthier explorer";
  heads = element("tr", {});
  body = element("tbody", {});
  foot = element("div", { id: "beside" });
  note = element("p", { class: "hint", id: "runs-note" });
  const field = element("input", { type: "search", placeholder: "find runs", "aria-label": "Find runs", on: { input: () => { search = field.value.toLowerCase(); drawRows(); } } });
  fill(byId("runs"),
    element("div", { class: "view-bar" }, element("h2", {}, "Runs"), element("span", { class: "count", id: "runs-count" }), field,
      button("Open", () => openRuns("line"), { id: "runs-open", class: "primary", title: "Open the lists of the chosen runs, with their weights" }),
      button("Compare sentences", () => openRuns("compare"), { id: "runs-compare", title: "Open the chosen runs, and compare what they select" }),
      csvButton("runs", () => [COLUMNS.map(([, title]) => title), ...ordered().map((row) => COLUMNS.map(([key]) => row[key]))])),
    element("div", { class: "table-frame", tabindex: 0, role: "region", "aria-label": "Runs, a table" }, element("table", { class: "plain runs" }, element("thead", {}, heads), body)), note, foot);
  followRuns();
}

async function followRuns() {
  clearTimeout(timer);
  if (!document.hidden || !rows.length) {
    try {
      const found = await askOnce("runs", {});
      const text = JSON.stringify(found.rows);
      if (text !== latest) { latest = text; rows = found.rows; drawRows(); }
      note.textContent = [found.note, rows.length ? "" : `No runs below ${found.folders.join(", ")}. 'luthier tune POOL -o weights.txt' writes one; it appears here while it runs.`].filter(Boolean).join(" ");
      complain("");
    } catch (error) {
      complain(error instanceof TypeError ? "The server does not answer. Has 'luthier explore' ended?" : error.message);
    }
  }
  timer = setTimeout(followRuns, 1000 * SECONDS);
}

function ordered() {
  const { column, down } = sorted;
  const found = rows.filter((row) => !search || [row.name, row.kind, row.tuner, row.metric, row.state, row.lists].some((text) => text.toLowerCase().includes(search)));
  const empty = (value) => value === null || value === "";
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return found.sort((a, b) => {
    const [x, y] = [a[column], b[column]];
    if (empty(x) || empty(y)) return Number(empty(x)) - Number(empty(y)); // what is unknown comes last
    return (down ? -1 : 1) * compare(x, y) || compare(a.name, b.name);
  });
}

function drawRows() {
  const focus = document.activeElement && document.activeElement.id;
  fill(heads, element("th", { scope: "col" }, element("span", { class: "unseen" }, "chosen")), COLUMNS.map(([key, title, about]) => {
    const now = sorted.column === key;
    return element("th", { scope: "col", "aria-sort": now ? (sorted.down ? "descending" : "ascending") : "none" },
      button(`${title}${now ? (sorted.down ? " ↓" : " ↑") : ""}`, () => { sorted = { column: key, down: now ? !sorted.down : ["when", "tuned", "unseen", "sentences"].includes(key) }; drawRows(); }, { class: "link", id: `sort-${key}`, title: about }));
  }));
  const found = ordered();
  fill(body, found.map(rowElement));
  byId("runs-count").textContent = found.length === rows.length ? String(rows.length) : `${found.length} of ${rows.length}`;
  if (focus && byId(focus)) byId(focus).focus();
  for (const run of [...chosen]) if (!rows.some((row) => row.run === run)) chosen.delete(run);
  drawChosen();
}

const unknown = () => element("span", { class: "hint" }, "unknown");

function rowElement(row) {
  const pick = element("input", { type: "checkbox", id: `pick-${row.run}`, "aria-label": `choose ${row.name}`, on: { change: () => choose(row.run, pick.checked) } });
  pick.checked = chosen.has(row.run);
  const pill = row.state && row.state !== "done" ? element("span", { class: `delta ${row.state === "running" ? "up" : "down"}` }, row.so_far ? `${row.state}: ${row.so_far}` : row.state) : null;
  const cell = (label, known, content, title = "") => element("td", { "data-label": label, class: known ? "" : "unknown", title }, known ? content : unknown());
  const score = (label, text, gain, title) => cell(label, text, [element("b", {}, text), " ", gain], title);
  return element("tr", { "data-run": row.run }, element("td", {}, pick),
    element("th", { scope: "row" }, button(row.name, () => (row.kind === "study" ? showStudy(row.run) : openOnly(row.run)), { class: "link", id: `open-${row.run}`, "data-kind": row.kind }), " ", row.kind !== "tune" && element("span", { class: "hint" }, row.kind), " ", pill),
    cell("when", true, row.when.replace("T", " ").replace("+00:00", "")),
    cell("tuner", row.tuner, row.tuner, row.tuner_full), cell("metric", row.metric, row.metric, row.signature),
    score("tuned", row.tuned_shown, row.gain_shown, ""),
    score("unseen", row.unseen_shown, [row.unseen_gain_shown, " ", row.warning && element("span", { class: "delta down", title: `On unseen sentences ${row.warning}` }, "below one scorer")], row.unseen_by),
    cell("sentences", row.sentences !== null, row.sentences?.toLocaleString("en")), cell("seed", row.seed !== null, row.seed));
}

function choose(run, on) {
  if (on && chosen.size >= MOST_CHOSEN) { complain(`At most ${MOST_CHOSEN} runs at a time.`); drawRows(); return; }
  if (on) chosen.add(run);
  else chosen.delete(run);
  drawChosen();
}

let beside = "";

/** The weights of the chosen runs side by side. */
async function drawChosen() {
  byId("runs-open").disabled = !chosen.size;
  byId("runs-compare").disabled = chosen.size < 2;
  const key = JSON.stringify([...chosen]);
  if (key === beside) return;
  beside = key;
  if (!chosen.size) { fill(foot, element("p", { class: "hint" }, "Choose runs to see their weights side by side. Click a name to open one: drag its weights, see its sentences; of a study, its tables.")); return; }
  let found;
  try {
    found = await askOnce("beside", { runs: [...chosen] });
  } catch (error) { complain(error.message); return; }
  if (beside !== key) return;
  const largest = Math.max(...found.rows.flatMap((row) => row.values.map(Math.abs)), 1e-300);
  const cell = (value, text) => {
    const bar = element("span", { class: `bar first ${value < 0 ? "minus" : "plus"}` });
    bar.style.width = `${(50 * Math.abs(value)) / largest}%`;
    return element("td", { class: "beside-cell" }, text, element("span", { class: "bar-cell" }, bar));
  };
  fill(foot, element("h3", {}, "Weights side by side, each of size 1; what differs most first"),
    found.systems.length === 0 ? element("p", { class: "hint" }, "These have no weights that can be read.") :
      element("div", { class: "table-frame", tabindex: 0, role: "region", "aria-label": "Weights side by side" }, element("table", { class: "plain", id: "beside-table" },
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "feature"), found.systems.map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, found.rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.feature), row.values.map((value, i) => cell(value, row.weights[i]))))))));
  announce(`${found.systems.length} weights side by side`);
}

/** The tables of a study, below the table of runs. */
async function showStudy(run) {
  let found;
  try {
    found = await askOnce("study", { run });
  } catch (error) { complain(error.message); return; }
  beside = `study ${run}`;
  fill(foot, element("h3", { tabindex: -1, id: "study-name" }, found.name), element("div", { id: "study" }, markdown(found.tables)));
  byId("study-name").focus();
}

const cellsOf = (line) => line.replace(/^\||\|$/g, "").split("|").map((text) => text.trim());

/** Headings, tables and paragraphs: what the tables of a study are made of. */
function markdown(text) {
  return text.split(/\n{2,}/).map((block) => {
    const lines = block.trim().split("\n");
    if (/^#+ /.test(lines[0])) return element("h4", {}, lines[0].replace(/^#+ /, ""));
    if (!lines[0].startsWith("|") || lines.length < 2) return lines[0] ? element("p", {}, lines.join(" ")) : null;
    const right = cellsOf(lines[1]).map((mark) => mark.endsWith(":"));
    const cell = (kind, line) => cellsOf(line).map((value, i) => element(kind, { class: right[i] ? "number" : "", ...(kind === "th" && { scope: "col" }) }, value));
    return element("div", { class: "table-frame", tabindex: 0, role: "region", "aria-label": "A table of the study" },
      element("table", { class: "plain" }, element("thead", {}, element("tr", {}, cell("th", lines[0]))), element("tbody", {}, lines.slice(2).map((line) => element("tr", {}, cell("td", line))))));
  });
}

const openOnly = (run) => go([run], "line");
const openRuns = (view) => { if (chosen.size) go([...chosen], view); };

/** Open runs: the page begins anew with their session. */
async function go(runs, view) {
  try {
    await askOnce("open", { runs });
  } catch (error) { complain(error.message); return; }
  location.hash = `open=${runs.join(".")}&s=${encodeURIComponent(JSON.stringify({ view }))}`;
  location.reload();
}
