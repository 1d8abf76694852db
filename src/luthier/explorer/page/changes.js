// The sentences that change: only the rows that can be seen are in the page.

import { diffElement, matchElement } from "./diff.js";
import { announce, byId, chooser, element, fill } from "./elements.js";
import { csvButton } from "./export.js";
import { clamp } from "./numbers.js";
import { ask, isReport } from "./server.js";
import { asked, changed, listen, session, state } from "./state.js";
import { term } from "./words.js";

const HEIGHT = 96, AHEAD = 4, STRETCH = 24;
let last = null;
let list, spacer, count, order, wanted = 0;

export function makeChanges() {
  order = chooser("Order", [["worst", "largest losses first"], ["best", "largest gains first"], ["sentence", "as they come"]], state.order,
    (value) => { state.order = value; list.scrollTop = 0; refresh(); changed("filter"); });
  count = element("span", { class: "count", id: "count" });
  spacer = element("ul", { class: "rows" });
  list = element("div", { class: "scroller", tabindex: -1, on: { scroll: onScroll } }, spacer);
  fill(byId("changes"), element("div", { class: "panel-head" }, element("h2", {}, term("Changed sentences", "changed sentences")), count, isReport ? element("span", { class: "hint" }, "largest losses first") : order,
    csvButton("changes", changeRows)), !isReport && filters(), list);
  list.addEventListener("keydown", moveFocus);
  listen((what) => {
    order.value = state.order;
    if (what === "weights" || what === "all") refresh();
    if (what === "sentence") markRow();
  });
}

function filters() {
  const field = (name, label, attributes) => element("input", { ...attributes, placeholder: label, "aria-label": label, value: state.filter[name] ?? "", on: { input: (event) => {
    const text = event.target.value;
    if (text === "") delete state.filter[name];
    else state.filter[name] = attributes.type === "number" ? Number(text) : text.slice(0, 200);
    list.scrollTop = 0;
    refresh();
    changed("filter");
  } } });
  return element("div", { class: "filters" },
    field("text", "with this text", { type: "search" }),
    field("words_low", "words from", { type: "number", min: 0 }),
    field("words_high", "to", { type: "number", min: 0 }),
    field("least", "change ≥", { type: "number", min: 0, step: "any" }));
}

function question(first, size) {
  if (isReport) return { against: state.against, weights: asked() };
  return { weights: asked(), against: state.against, order: state.order, filter: state.filter, first, count: size };
}

/** Ask for the score and for the rows about those that can be seen. */
export async function refresh() {
  const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - AHEAD);
  wanted = first;
  const found = await ask("select", "select", question(first, Math.max(STRETCH, Math.ceil(list.clientHeight / HEIGHT) + 2 * AHEAD)));
  if (!found) return;
  last = found;
  state.latest = found;
  changed("score");
  draw();
  const better = found.better[state.against];
  announce(`${session.metric.name} ${found.shown}, ${better > 0 ? "better" : better < 0 ? "worse" : "unchanged"} by ${found.changes[state.against]}; ${found.changed} sentences change`);
}

function draw() {
  const total = isReport ? last.rows.length : last.listed;
  count.textContent = last.listed === last.changed ? `${last.changed.toLocaleString("en")}` : `${last.listed.toLocaleString("en")} of ${last.changed.toLocaleString("en")}`;
  spacer.style.height = `${Math.max(1, total) * HEIGHT}px`;
  const start = clamp(Math.floor(list.scrollTop / HEIGHT) - AHEAD, 0, total);
  const stop = Math.min(total, start + Math.ceil(list.clientHeight / HEIGHT) + 2 * AHEAD);
  const rows = last.rows.map((row, i) => [last.first + i, row]).filter(([place]) => place >= start && place < stop);
  const had = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.sentence : undefined;
  fill(spacer, rows.map(([place, row]) => changeRow(place, row)), !total && element("li", { class: "empty" }, emptyText()));
  if (had !== undefined) { const again = spacer.querySelector(`[data-sentence="${had}"]`); if (again) again.focus({ preventScroll: true }); }
  markRow();
}

function emptyText() {
  if (last.changed) return "No changed sentence passes the filter.";
  return `Nothing changes against ${session.named[state.against].name}. ${isReport ? "Choose other weights." : "Drag a weight, or click the filled chip: its weight has the most to gain."}`;
}

function changeRow(place, row) {
  const kind = row.gain > 0 ? "up" : row.gain < 0 ? "down" : "even";
  const open = element("button", { type: "button", class: "row", "data-sentence": row.sentence, on: { click: () => { state.sentence = row.sentence; changed("sentence"); } } },
    element("span", { class: "row-head" }, element("b", {}, row.id), element("span", { class: `delta ${kind}` }, row.shown)),
    diffElement(row.before, row.after),
    row.reference && element("span", { class: "reference" }, element("i", {}, "reference "), matchElement(row.reference, row.after)));
  const item = element("li", { class: "row-place" }, open);
  item.style.transform = `translateY(${place * HEIGHT}px)`;
  return item;
}

function markRow() {
  for (const row of spacer.querySelectorAll(".row")) row.classList.toggle("chosen", Number(row.dataset.sentence) === state.sentence);
}

function onScroll() {
  if (!last) return;
  const first = Math.floor(list.scrollTop / HEIGHT);
  const stop = Math.min(last.listed, first + Math.ceil(list.clientHeight / HEIGHT) + 1);
  draw();
  const held = first >= last.first && stop <= last.first + last.rows.length;
  if (!held && !isReport && wanted !== Math.max(0, first - AHEAD)) refresh();
}

function moveFocus(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const here = document.activeElement.closest(".row-place");
  if (!step || !here) return;
  event.preventDefault();
  const next = step > 0 ? here.nextElementSibling : here.previousElementSibling;
  if (next && next.firstElementChild) next.firstElementChild.focus();
}

async function changeRows() {
  const rows = [["id", "change", "before", "after", "reference"]];
  const total = last.listed;
  const add = (found) => found.rows.forEach((r) => rows.push([r.id, r.gain, r.before, r.after, r.reference]));
  if (isReport) { add(last); return rows; }
  for (let first = 0; first < total; first += 200) {
    const found = await ask("csv", "select", question(first, 200));
    if (found) add(found);
  }
  return rows;
}
