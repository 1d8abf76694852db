// The weights: a slider, a field and a lock for each feature, and what the best value of each alone would gain.

import { button, byId, chooser, complain, element, fill } from "./elements.js";
import { saveFile } from "./export.js";
import { clamp, shortNumber, weightNumber } from "./numbers.js";
import { ask, askWaiting, isReport } from "./server.js";
import { term, TERMS } from "./words.js";
import { asked, changed, goTo, goToNamed, listen, remember, session, setWeight, state, weightOf } from "./state.js";

const MOST_SHOWN = 100;
const STEPS = 1000, REACH = 64;
const rows = new Map();
let promises = new Map(), intervals = null;
let asking = 0, search = "", visited = null;

export function makeWeights() {
  listen((what) => {
    if (what === "weights" || what === "all") { showWeights(); promiseLater(); intervalsLater(); }
    if (what === "view" || what === "all") markFeature();
  });
  drawPanel();
}

const usable = (d) => !session.features[d].unused;
const usual = (d) => Math.abs(session.weights[0][d]) * (session.features[d].unit ? 1 / session.features[d].unit : 0);

/** The features to list: all, or those that match the search, or those with the largest effect where there are many. */
function listed() {
  const all = session.features.map((_, d) => d);
  const found = search ? all.filter((d) => session.features[d].name.toLowerCase().includes(search)) : all;
  if (found.length <= MOST_SHOWN) return found;
  return found.sort((a, b) => usual(b) - usual(a)).slice(0, MOST_SHOWN).sort((a, b) => a - b);
}

function drawPanel() {
  rows.clear();
  const found = listed();
  const used = found.filter(usable), unused = found.filter((d) => !usable(d));
  fill(byId("weights"), heading(), tools(), searchField(),
    element("ul", { class: "weight-list" }, used.map(row)),
    session.features.length > found.length && element("p", { class: "hint" }, `${found.length} of ${session.features.length} features; search for others by name.`),
    unused.length > 0 && element("details", { class: "unused" },
      element("summary", { title: TERMS.unused }, `unused (${unused.length})`),
      element("ul", {}, unused.map((d) => element("li", {}, element("b", {}, session.features[d].name), ` ${session.features[d].unused}.`)))),
    element("p", { class: "hint" }, isReport
      ? "A report shows the named weights. To drag weights, open the lists with 'luthier explore'."
      : [term("The chip", "chip"), " beside a weight says what its best value alone would gain. Click it to go there. The bar below a slider is its ", term("resampled interval"), "."]));
  showWeights();
  markFeature();
}

function heading() {
  const named = chooser("Weights to begin with", session.named.map((item, i) => [i, `${item.name} · ${item.shown}`]), state.base,
    (value) => goToNamed(Number(value)), { id: "named" });
  return element("div", { class: "panel-head" }, element("h2", {}, "Weights"), named);
}

function tools() {
  if (isReport) return null;
  const file = element("input", { type: "file", class: "unseen", tabindex: -1, "aria-hidden": "true", on: { change: () => loadFile(file) } });
  return element("div", { class: "tools" },
    button("Load…", () => file.click(), { title: "Read weights from a file of 'name value' lines" }), file,
    button("Save", saveWeights, { id: "save-weights", title: "Save these weights as 'name value' lines" }),
    chooser("Scale of the sliders", [["linear", "linear sliders"], ["log", "log sliders"]], state.scale,
      (value) => { state.scale = value; changed("filter"); showWeights(); }));
}

function searchField() {
  if (session.features.length <= 30) return null;
  return element("input", { type: "search", placeholder: "find a feature", "aria-label": "Find a feature", value: search, on: { input: (event) => {
    search = event.target.value.toLowerCase();
    drawPanel();
    const field = byId("weights").querySelector("input[type=search]");
    field.value = event.target.value;
    field.focus();
  } } });
}

function row(d) {
  const feature = session.features[d];
  const name = button(feature.name, () => takeInHand(d), { class: "feature-name", title: `Show the curve along ${feature.name}` });
  const slider = element("input", { type: "range", min: -STEPS, max: STEPS, step: 1, "aria-label": `weight of ${feature.name}`, "data-feature": d, on: {
    pointerdown: remember, keydown: () => rememberKeys(d), blur: () => { visited = null; }, focus: () => takeInHand(d, true), input: () => setWeight(d, fromSlider(d, Number(slider.value))),
  } });
  const field = element("input", { type: "number", step: "any", "aria-label": `${feature.name}, exact value`, on: { change: () => {
    remember();
    setWeight(d, Number(field.value));
    showWeights();
  } } });
  const lock = button("", () => toggleLock(d), { class: "lock" });
  const chip = button("", () => follow(d), { class: "chip", hidden: true });
  const band = element("span", { class: "interval", hidden: true });
  const item = element("li", { class: "weight" }, element("div", { class: "weight-head" }, name, chip, lock), field, element("span", { class: "track" }, band, slider));
  rows.set(d, { item, slider, field, lock, chip, band });
  return item;
}

/** Keys that move one slider, one after another, are one step back. */
function rememberKeys(d) {
  if (visited !== d) remember();
  visited = d;
}

/** Bring a feature to the line view. */
export function takeInHand(d, quiet = false) {
  if (quiet && state.feature === d) return;
  state.feature = d;
  if (!quiet) state.view = "line";
  changed("view");
}

function toggleLock(d) {
  if (state.locked.has(d)) state.locked.delete(d);
  else state.locked.add(d);
  showWeights();
  changed("filter");
}

// Sliders go in units of a feature's effect, from the start: 4 units either way, or 64 on the log scale.

function fromSlider(d, place) {
  const { unit, low, high } = session.features[d];
  const start = session.weights[0][d];
  if (!place) return start;
  if (state.scale === "linear") return place > 0 ? start + (place / STEPS) * (high - start) : start + (place / STEPS) * (start - low);
  return start + Math.sign(place) * unit * ((REACH + 1) ** (Math.abs(place) / STEPS) - 1);
}

function toSlider(d, value) {
  const { unit, low, high } = session.features[d];
  const start = session.weights[0][d];
  if (value === start || !unit) return 0;
  if (state.scale === "linear") return value > start ? (STEPS * (value - start)) / (high - start) : (STEPS * (value - start)) / (start - low);
  return Math.sign(value - start) * STEPS * (Math.log(Math.abs(value - start) / unit + 1) / Math.log(REACH + 1));
}

function showWeights() {
  for (const [d, { slider, field, lock, item }] of rows) {
    const value = weightOf(d), locked = state.locked.has(d);
    const place = Math.round(clamp(toSlider(d, value), -STEPS, STEPS));
    if (Number(slider.value) !== place) slider.value = place;
    slider.setAttribute("aria-valuetext", shortNumber(value));
    if (document.activeElement !== field) field.value = weightNumber(value, session.features[d].unit);
    field.title = String(value);
    slider.disabled = field.disabled = locked || isReport;
    if (lock.getAttribute("aria-pressed") !== String(locked)) {
      fill(lock, lockSign(locked));
      lock.setAttribute("aria-label", `${locked ? "unlock" : "lock"} ${session.features[d].name}`);
      lock.setAttribute("aria-pressed", String(locked));
      lock.hidden = isReport;
    }
    item.classList.toggle("moved", value !== session.weights[0][d]);
  }
  showIntervals();
  const named = byId("named");
  if (named) named.value = String(state.base);
}

/** A padlock, drawn: not every machine has a letter for it. */
function lockSign(locked) {
  const sign = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const shapes = [["rect", { x: 2, y: 7, width: 12, height: 8, rx: 2 }], ["path", { d: locked ? "M5 7V5a3 3 0 0 1 6 0v2" : "M5 7V4a3 3 0 0 1 6-0.5", fill: "none", stroke: "currentColor", "stroke-width": 2 }]];
  for (const [name, value] of Object.entries({ width: 14, height: 16, viewBox: "0 0 16 16", fill: "currentColor", "aria-hidden": "true" })) sign.setAttribute(name, value);
  for (const [tag, attributes] of shapes) {
    const shape = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, value);
    sign.append(shape);
  }
  return sign;
}

function markFeature() {
  for (const [d, { item }] of rows) item.classList.toggle("in-hand", d === state.feature);
}

// ---- what each weight alone would gain ---------------------------------------------------------------------------

function promiseLater() {
  for (const { chip } of rows.values()) chip.classList.add("old");
  clearTimeout(asking);
  asking = setTimeout(findPromises, 350);
}

async function findPromises() {
  const weights = asked();
  const found = await ask("lines", "lines", { weights });
  if (!found) return;
  promises = new Map(found.lines.map((item) => [item.feature, item]));
  for (const [d, { chip }] of rows) {
    const item = promises.get(d);
    chip.hidden = !item || !/[1-9]/.test(item.shown);
    chip.classList.remove("old");
    if (!item) continue;
    fill(chip, item.shown);
    chip.classList.toggle("most", item.feature === found.most);
    chip.title = `At ${shortNumber(item.value)} this weight alone brings ${session.metric.name} to ${item.score_shown}. Click to go there.`;
    chip.setAttribute("aria-label", `${session.features[d].name}: best value alone gains ${item.shown}; go there`);
    chip.disabled = isReport;
  }
  const unseen = await askWaiting("promises", "promises", { weights });
  if (unseen) showUnseenPromises(unseen);
}

/** Beside what the best value gains on the lists: what it gains on sentences that did not choose it. */
function showUnseenPromises(unseen) {
  for (const item of unseen.lines) {
    const row = rows.get(item.feature);
    if (!row || row.chip.hidden || row.chip.classList.contains("old")) continue;
    row.chip.querySelector(".on-unseen")?.remove();
    row.chip.append(element("span", { class: `on-unseen ${item.better > 0 ? "" : "not"}` }, item.shown));
    row.chip.title += ` On unseen sentences (${unseen.by}) that adds ${item.shown}.`;
    row.chip.setAttribute("aria-label", `${row.chip.getAttribute("aria-label")}; on unseen sentences ${item.shown}`);
  }
}

// ---- where resamples put each weight -------------------------------------------------------------------------------

let askedIntervals = -1, resting = 0;

function intervalsLater() {
  clearTimeout(resting);
  if (askedIntervals !== state.base) resting = setTimeout(findIntervals, isReport ? 0 : 1500);
}

async function findIntervals() {
  const base = askedIntervals = state.base;
  const found = await askWaiting("intervals", "intervals", { base });
  if (!found) { if (askedIntervals === base && !isReport) askedIntervals = -1; return; }
  intervals = found;
  showIntervals();
}

function showIntervals() {
  for (const [d, { band, slider }] of rows) {
    const ends = intervals && intervals.base === state.base ? intervals.ends[d] : null;
    band.hidden = !ends;
    if (!ends) continue;
    const [low, high] = ends.map((end) => (clamp(toSlider(d, end), -STEPS, STEPS) + STEPS) / (2 * STEPS));
    band.style.left = `calc(8px + (100% - 16px) * ${low})`;
    band.style.width = `max(2px, calc((100% - 16px) * ${high - low}))`;
    const text = `On resamples of the sentences this weight lies from ${shortNumber(ends[0], 3)} to ${shortNumber(ends[1], 3)} (${intervals.by})${ends[0] < 0 && ends[1] > 0 ? ": it cannot be told from 0" : ""}.`;
    slider.title = band.title = text;
  }
}

function follow(d) {
  const item = promises.get(d);
  if (!item) return;
  state.order = "best"; // first the sentences that the weight, as it was, has hurt
  remember();
  setWeight(d, item.value);
  takeInHand(d);
}

// ---- files -------------------------------------------------------------------------------------------------------

function saveWeights() {
  const lines = session.features.map((feature, d) => `${feature.name} ${weightOf(d)}`);
  saveFile("weights.txt", lines.join("\n") + "\n", "text/plain");
}

async function loadFile(input) {
  const text = input.files.length ? await input.files[0].text() : "";
  input.value = "";
  const places = new Map(session.features.map((feature, d) => [feature.name, d]));
  const set = [];
  let unknown = 0;
  for (const line of text.split(/\r?\n/)) {
    const found = /^\s*(?!#)(.*?)[\s=]+(\S+)\s*$/.exec(line);
    if (!found || !Number.isFinite(Number(found[2]))) continue;
    if (places.has(found[1])) set.push([places.get(found[1]), Number(found[2])]);
    else unknown += 1;
  }
  if (!set.length) { complain("Expected a file of 'name value' lines with names of these features, found none."); return; }
  if (set.length > 2000) { complain("A file may change 2,000 weights here; start with 'luthier explore --weights FILE' instead."); return; }
  goTo({ base: 0, set: set.filter(([d, value]) => value !== session.weights[0][d]) });
  complain(unknown ? `${unknown} weights are of features that these lists lack; they count 0.` : "");
}
