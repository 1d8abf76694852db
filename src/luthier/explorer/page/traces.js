// The states of a tuner: gain and held-out gain by step; a click goes to a state's weights. A file that grows is followed.

import { drawAxes, Picture } from "./canvas.js";
import { themeColor } from "./colors.js";
import { announce, button, chooser, element } from "./elements.js";
import { pictureButtons } from "./export.js";
import { scoreText } from "./numbers.js";
import { ask, isReport } from "./server.js";
import { goTo, session, state } from "./state.js";
import { term } from "./words.js";

const SECONDS = 2;
let states = [], generation = 0, chosen = null, places = [];
let picture, readout, timer = 0;

export function makeTraces() {
  picture = new Picture("Gain by step", drawTrace);
  readout = element("p", { class: "readout" });
  picture.canvas.addEventListener("click", (event) => pickNear(picture.at(event)));
  picture.canvas.addEventListener("keydown", traceKey);
  const files = chooser("Trace", session.traces.map((path, i) => [i, path.replace(/.*[/\\]/, "")]), state.trace, (value) => { state.trace = Number(value); chosen = null; states = []; followTrace(); });
  const bar = element("div", { class: "view-bar" }, element("label", {}, term("gain"), ", ", term("held-out gain"), " of ", files),
    !isReport && button("Go to the best", () => { if (states.length) { chosen = bestState(); goToState(); } }, { id: "trace-best", class: "primary" }), pictureButtons("trace", picture, traceRows));
  return { element: element("div", { class: "view" }, bar, picture.element, readout), show: followTrace };
}

async function followTrace() {
  clearTimeout(timer);
  if (state.view !== "traces") return;
  const body = isReport ? { trace: state.trace } : { trace: state.trace, has: states.length, generation };
  const found = document.hidden && states.length ? null : await ask("trace", "trace", body);
  if (found) takeStates(found);
  if (!isReport) timer = setTimeout(followTrace, found && found.more ? 0 : 1000 * SECONDS);
}

/** Add what is new; another file begins anew. */
function takeStates(found) {
  const before = states.length;
  if (found.generation !== generation) { generation = found.generation; chosen = null; states = []; }
  if (found.first === states.length) states = states.concat(found.states);
  readout.textContent = found.waiting ? "The file is not there yet; it is looked for every two seconds." : tellState();
  picture.canvas.dataset.states = String(states.length);
  if (before && states.length > before) announce(`${states.length} states`);
  picture.redraw();
}

const bestState = () => states.reduce((best, it, i) => (it.gain > states[best].gain ? i : best), 0);

function tellState() {
  if (!states.length) return "No state yet.";
  if (chosen === null || !states[chosen]) return `${states.length.toLocaleString("en")} states, the best gain ${scoreText(states[bestState()].gain)}; click one to go to its weights${isReport ? "" : " · new ones are looked for every two seconds"}`;
  const it = states[chosen];
  return `run ${it.restart ?? 0}, step ${it.step ?? chosen}: gain ${scoreText(it.gain)}${it.heldout_gain === null ? "" : `, held-out ${scoreText(it.heldout_gain)}`} ${it.did}`;
}

function drawTrace(pen, box) {
  if (!states.length) return;
  const values = states.flatMap((it) => [it.gain, it.heldout_gain]).filter((v) => v !== null && v !== undefined);
  const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b)), pad = 0.06 * (high - low) || 1;
  const [toX, toY] = drawAxes(pen, box, { low: -0.5, high: Math.max(1, states.length - 0.5), name: "state" }, { low: low - pad, high: high + pad, name: "gain" });
  places = states.map((it, i) => [toX(i), toY(it.gain)]);
  const runs = new Map(); // runs in threads come mixed
  states.forEach((it, i) => { const key = `${it.seed} ${it.restart}`; if (!runs.has(key)) runs.set(key, []); runs.get(key).push(i); });
  for (const run of runs.values()) {
    pen.line(run.map((i) => places[i]), themeColor("accent"), 1.6);
    const held = run.filter((i) => states[i].heldout_gain !== null && states[i].heldout_gain !== undefined);
    pen.line(held.map((i) => [toX(i), toY(states[i].heldout_gain)]), themeColor("second"), 1.6, [6, 3]);
  }
  if (states.length < 600) places.forEach(([x, y]) => pen.circle(x, y, 3, themeColor("accent")));
  if (chosen !== null && places[chosen]) pen.circle(...places[chosen], 6, themeColor("here"));
  const held = states.some((it) => it.heldout_gain !== null && it.heldout_gain !== undefined);
  if (held) pen.text(box.left + box.width - 4, box.top + box.height - 10, "— gain   - - held-out gain", themeColor("ink-soft"), "right");
}

function pickNear([x, y]) {
  let best = Infinity;
  places.forEach(([px, py], i) => { const far = Math.hypot(px - x, (py - y) / 3); if (far < best) { best = far; chosen = i; } });
  if (places.length) goToState();
}

async function goToState() {
  readout.textContent = tellState();
  picture.redraw();
  if (isReport) return;
  const found = await ask("state", "state", { trace: state.trace, state: chosen, generation });
  if (found) goTo(found.weights);
}

function traceKey(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step || !states.length) return;
  event.preventDefault();
  chosen = Math.min(states.length - 1, Math.max(0, (chosen ?? (step > 0 ? -1 : states.length)) + step));
  goToState();
}

const traceRows = () => [["seed", "run", "step", "gain", "held-out gain", "did"], ...states.map((it) => [it.seed, it.restart, it.step, it.gain, it.heldout_gain, it.did])];
