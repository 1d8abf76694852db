// The states of a tuner: gain and held-out gain by step; a click goes to a state's weights. A file that grows is followed.

import { drawAxes, Picture } from "./canvas.js";
import { themeColor } from "./colors.js";
import { chooser, element } from "./elements.js";
import { pictureButtons } from "./export.js";
import { ask, isReport } from "./server.js";
import { goTo, session, state } from "./state.js";

const SECONDS = 2;
let states = [], chosen = null, places = [];
let picture, readout, timer = 0;

export function makeTraces() {
  picture = new Picture("Gain by step", drawTrace);
  readout = element("p", { class: "readout" });
  picture.canvas.addEventListener("click", (event) => pickNear(picture.at(event)));
  picture.canvas.addEventListener("keydown", traceKey);
  const files = chooser("Trace", session.traces.map((path, i) => [i, path.replace(/.*[/\\]/, "")]), state.trace, (value) => { state.trace = Number(value); chosen = null; followTrace(); });
  const bar = element("div", { class: "view-bar" }, element("label", {}, "trace ", files), pictureButtons("trace", picture, traceRows));
  return { element: element("div", { class: "view" }, bar, picture.element, readout), show: followTrace };
}

async function followTrace() {
  clearTimeout(timer);
  if (state.view !== "traces") return;
  const found = await ask("trace", "trace", { trace: state.trace });
  if (found && (found.states.length !== states.length || !states.length || found.states[0].gain !== states[0].gain)) states = found.states;
  if (found) readout.textContent = found.waiting ? "The file is not there yet; it is looked for every two seconds." : tellState();
  picture.redraw();
  if (!isReport) timer = setTimeout(followTrace, 1000 * SECONDS);
}

function tellState() {
  if (chosen === null || !states[chosen]) return `${states.length} states; click one to go to its weights`;
  const it = states[chosen];
  return `run ${it.restart ?? 0}, step ${it.step ?? chosen}: gain ${it.gain.toFixed(4)}${it.heldout_gain === null ? "" : `, held-out ${it.heldout_gain.toFixed(4)}`} ${it.did}`;
}

function drawTrace(pen, box) {
  if (!states.length) return;
  const values = states.flatMap((it) => [it.gain, it.heldout_gain]).filter((v) => v !== null && v !== undefined);
  const low = Math.min(...values), high = Math.max(...values), pad = 0.06 * (high - low) || 1;
  const [toX, toY] = drawAxes(pen, box, { low: -0.5, high: Math.max(1, states.length - 0.5), name: "state" }, { low: low - pad, high: high + pad, name: "gain" });
  places = states.map((it, i) => [toX(i), toY(it.gain)]);
  const runs = [];
  states.forEach((it, i) => { if (!i || it.restart !== states[i - 1].restart || it.seed !== states[i - 1].seed) runs.push([]); runs[runs.length - 1].push(i); });
  for (const run of runs) {
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
  const found = await ask("state", "state", { trace: state.trace, state: chosen });
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
