// The trade-off of two metrics: their Pareto front; a point chosen there goes to sliders, line, surface and sentences.

import { drawAxes, Picture } from "./canvas.js";
import { themeColor } from "./colors.js";
import { announce, button, chooser, element, fill } from "./elements.js";
import { pictureButtons } from "./export.js";
import { ask, askWaiting } from "./server.js";
import { asked, goTo, session, state } from "./state.js";
import { term } from "./words.js";

const PLACES = [["all", "all weights"], ["line", "the line in hand"], ["plane", "the surface's two features"]];
let found = null, about = null, chosen = null, places = [], busy = false;
let metrics = [0, 1], place = "all";
let picture, readout, facts, run;

export function makeTradeoff() {
  picture = new Picture("The trade-off of two metrics", drawFront);
  readout = element("p", { class: "readout", id: "tradeoff-readout" });
  facts = element("p", { class: "hint", id: "tradeoff-facts" });
  picture.canvas.addEventListener("click", (event) => pickNear(picture.at(event)));
  picture.canvas.addEventListener("keydown", frontKey);
  const options = session.metrics.map((name, i) => [i, name]);
  metrics = [0, Math.max(1, session.metrics.findIndex((name) => name === (session.metric.name === "chrf" ? "bleu" : "chrf")))];
  const pick = (k) => chooser(k ? "Second metric" : "First metric", options, metrics[k], (value) => { metrics[k] = Number(value); }, { id: `tradeoff-${k}` });
  run = button("Find the front", findFront, { id: "tradeoff-run", class: "primary", title: "Weights that no others beat in both metrics" });
  const bar = element("div", { class: "view-bar" }, element("label", {}, term("of", "trade-off"), " ", pick(0)), element("label", {}, "and ", pick(1)),
    element("label", {}, "over ", chooser("Where", PLACES, place, (value) => { place = value; })), run,
    pictureButtons("tradeoff", picture, frontRows));
  tell();
  return { element: element("div", { class: "view" }, bar, picture.element, readout, facts), show: () => picture.redraw() };
}

async function findFront() {
  const axes = place === "all" ? [] : place === "line" ? [state.feature] : state.axes.filter((a) => a < session.features.length);
  const body = { weights: asked(), metrics, place, axes };
  busy = true;
  tell();
  const reply = await askWaiting("tradeoff", "tradeoff", body);
  busy = false;
  if (reply) { found = reply; about = body; chosen = null; picture.canvas.dataset.points = String(found.points.length); announce(`front of ${found.front} points`); }
  tell();
  picture.redraw();
}

function tell() {
  run.disabled = busy;
  if (busy) { readout.textContent = "Searching…"; return; }
  if (!found) { readout.textContent = "Two metrics rarely agree on the best weights. Find the front, and click a point to go to its weights."; fill(facts); return; }
  facts.textContent = found.conflicts.join("; ");
  const what = found.exact ? "every cell visited, exact" : "the best of exact line searches; other weights may be better still";
  if (chosen === null) { readout.textContent = `${found.front} points that no other beats in both, of ${found.cells.toLocaleString("en")} looked at (${what}) · the ring is the mix that neither metric dislikes · click a point, or use ← →`; return; }
  const it = found.points[chosen];
  readout.textContent = found.labels.map((label, k) => `${label} ${it.shown[k]} (${it.changes[k]}${it.unseen ? `, unseen ${it.unseen_shown[k]}` : ""})`).join(" · ");
}

function drawFront(pen, box) {
  if (!found) return;
  const dots = [...found.points.map((it) => it.scores), found.start, ...found.points.filter((it) => it.unseen).map((it) => it.unseen)];
  const ends = [0, 1].map((k) => [Math.min(...dots.map((dot) => dot[k])), Math.max(...dots.map((dot) => dot[k]))]); // others may lie outside
  const axes = ends.map(([low, high], k) => { const pad = 0.12 * (high - low) || 1; return { low: low - pad, high: high + pad, name: `${found.labels[k]}${found.higher[k] === false ? ", lower is better" : ""}` }; });
  const [toX, toY] = drawAxes(pen, box, axes[0], axes[1]);
  pen.clip(box.left, box.top, box.width, box.height, () => {
    for (const dot of found.seen) pen.circle(toX(dot[0]), toY(dot[1]), 1.5, themeColor("line"));
    for (const it of found.points) if (it.unseen) pen.circle(toX(it.unseen[0]), toY(it.unseen[1]), 2.5, themeColor("second"));
    pen.line(found.points.map((it) => [toX(it.scores[0]), toY(it.scores[1])]), themeColor("accent"), 1.4);
    places = found.points.map((it) => [toX(it.scores[0]), toY(it.scores[1])]);
    places.forEach(([x, y]) => pen.circle(x, y, 3.5, themeColor("accent")));
    const mix = found.points.findIndex((it) => it.point === found.mix);
    if (mix >= 0) { pen.circle(...places[mix], 8, themeColor("good")); pen.circle(...places[mix], 5, themeColor("surface")); pen.circle(...places[mix], 3.5, themeColor("accent")); }
    const [x, y] = [toX(found.start[0]), toY(found.start[1])];
    pen.line([[x - 6, y], [x + 6, y]], themeColor("ink"), 2); pen.line([[x, y - 6], [x, y + 6]], themeColor("ink"), 2);
    if (chosen !== null) pen.circle(...places[chosen], 6, themeColor("here"));
  });
  const unseen = found.points.some((it) => it.unseen) ? "   orange: the same weights on unseen sentences" : "";
  if (box.width > 420) pen.text(box.left + box.width - 4, box.top + box.height - 10, `+ the weights it was found about${unseen}`, themeColor("ink-soft"), "right");
}

function pickNear([x, y]) {
  let best = Infinity, near = null;
  places.forEach(([px, py], i) => { const far = Math.hypot(px - x, py - y); if (far < best) { best = far; near = i; } });
  if (near !== null) goToPoint(near);
}

async function goToPoint(i) {
  chosen = i;
  tell();
  picture.redraw();
  const reply = await ask("point", "tradeoff", { ...about, point: found.points[i].point });
  if (reply && reply.weights) goTo(reply.weights);
}

function frontKey(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step || !found) return;
  event.preventDefault();
  const last = found.points.length - 1;
  goToPoint(Math.min(last, Math.max(0, (chosen ?? (step > 0 ? -1 : last + 1)) + step)));
}

const frontRows = () => (found ? [[...found.labels, ...found.labels.map((label) => `${label} unseen`)], ...found.points.map((it) => [...it.scores, ...(it.unseen || found.labels.map(() => ""))])] : []);
