// The exact curve along the feature in hand: steps drawn as steps, the best interval marked, a click goes there.

import { drawAxes, Picture } from "./canvas.js";
import { themeColor } from "./colors.js";
import { button, chooser, element, fill } from "./elements.js";
import { pictureButtons } from "./export.js";
import { clamp, countBelow, shortNumber } from "./numbers.js";
import { ask, askWaiting, isReport } from "./server.js";
import { term } from "./words.js";
import { asked, changed, listen, remember, session, setWeight, state, weightOf } from "./state.js";

let curve = null; // {feature, others, origin, steps, scores, best}
let range = null; // of weights shown
let cursor = null, region = null, resting = 0;
let picture, readout, picker;

export function makeLine() {
  picture = new Picture("The metric along one weight", drawLine);
  readout = element("p", { class: "readout", id: "line-readout" });
  const { canvas } = picture;
  canvas.addEventListener("pointermove", (event) => { cursor = toWeight(picture.at(event)[0]); tell(); picture.redraw(); });
  canvas.addEventListener("pointerleave", () => { cursor = null; tell(); picture.redraw(); });
  canvas.addEventListener("click", (event) => goToInterval(toWeight(picture.at(event)[0])));
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoomLine(event.deltaY < 0 ? 0.8 : 1.25, toWeight(picture.at(event)[0])); }, { passive: false });
  canvas.addEventListener("keydown", lineKey);
  picker = chooser("Feature", session.features.map((f, d) => [d, f.name]).filter(([d]) => !session.features[d].unused), state.feature,
    (value) => { state.feature = Number(value); changed("view"); });
  const bar = element("div", { class: "view-bar" }, element("label", {}, term("along", "line"), " ", picker),
    button("−", () => zoomLine(1.6), { "aria-label": "Show more of the line", title: "Show more" }),
    button("+", () => zoomLine(0.6), { "aria-label": "Show less of the line", title: "Show less" }),
    button("Usual", () => { range = null; picture.redraw(); }, { title: "Show the usual range" }),
    !isReport && button("Go to the best", goToBest, { id: "line-best", class: "primary" }),
    pictureButtons("line", picture, lineRows));
  listen((what) => { if (what !== "sentence" && what !== "filter") followLine(); });
  return { element: element("div", { class: "view" }, bar, picture.element, readout), show: followLine };
}

/** Weights but for the one in hand: the curve holds as long as these stay. */
function others() {
  const { base, set } = asked();
  return JSON.stringify([base, set.filter(([d]) => d !== state.feature)]);
}

async function followLine() {
  if (state.view !== "line") return;
  picker.value = String(state.feature);
  if (curve && curve.feature === state.feature && curve.others === others()) {
    tell();
    picture.redraw();
    return;
  }
  const wanted = { feature: state.feature, others: others() };
  const weights = asked();
  const found = await ask("line", "line", { weights, axis: state.feature });
  if (!found) return;
  if (!curve || curve.feature !== wanted.feature) range = null;
  curve = { ...wanted, ...found };
  region = null;
  tell();
  picture.redraw();
  clearTimeout(resting);
  if (!isReport) resting = setTimeout(() => findRegion(wanted, weights), 700);
}

/** Where the best place lies on resamples of the sentences; asked for once the weights rest. */
async function findRegion(wanted, weights) {
  const found = await askWaiting("region", "region", { weights, axis: wanted.feature });
  if (!found || !found.share || !curve || curve.feature !== wanted.feature || curve.others !== wanted.others) return;
  region = found;
  picture.canvas.dataset.region = JSON.stringify(found.region);
  tell();
  picture.redraw();
}

function usualRange() {
  const { low, high } = session.features[curve.feature];
  const here = weightOf(curve.feature), best = curve.best.position;
  const far = Math.abs(best - (low + high) / 2) > 2 * (high - low); // then it would squeeze all else
  const pad = 0.05 * (high - low);
  return [Math.min(low, here, far ? low : best) - pad, Math.max(high, here, far ? high : best) + pad];
}

const shownRange = () => range || usualRange();

function toWeight(place) {
  const { left, width } = picture.box;
  const [low, high] = shownRange();
  return low + clamp((place - left) / width, 0, 1) * (high - low);
}

/** The number of the interval that holds a weight. */
const intervalAt = (weight) => countBelow(curve.steps, weight - curve.origin);

function drawLine(pen, box) {
  if (!curve) return;
  const [low, high] = shownRange();
  const first = intervalAt(low), last = intervalAt(high);
  let bottom = Infinity, top = -Infinity;
  for (let i = first; i <= last; i++) { bottom = Math.min(bottom, curve.scores[i]); top = Math.max(top, curve.scores[i]); }
  const pad = 0.06 * (top - bottom) || Math.max(0.5, Math.abs(top) * 0.01);
  const [toX, toY] = drawAxes(pen, box, { low, high, name: `weight of ${session.features[curve.feature].name}` }, { low: bottom - pad, high: top + pad, name: session.metric.name });
  pen.clip(box.left, box.top, box.width, box.height, () => {
    drawBest(pen, box, toX, low, high);
    drawRegion(pen, box, toX, low, high);
    pen.line(stepPoints(first, last, low, high, toX, toY), themeColor("accent"), 1.6);
    const here = weightOf(curve.feature);
    pen.line([[toX(here), box.top], [toX(here), box.top + box.height]], themeColor("here"), 2);
    pen.circle(toX(here), toY(curve.scores[intervalAt(here)]), 5, themeColor("here"));
    if (cursor !== null) pen.line([[toX(cursor), box.top], [toX(cursor), box.top + box.height]], themeColor("ink-soft"), 1, [4, 3]);
  });
}

function drawBest(pen, box, toX, low, high) {
  const ends = [curve.best.low, curve.best.high].map((end, i) => clamp(end === null ? (i ? high : low) : end, low, high));
  const [a, b] = ends.map(toX);
  pen.rect(a, box.top, Math.max(2, b - a), box.height, themeColor("best-soft"));
}

function drawRegion(pen, box, toX, low, high) {
  if (!region) return;
  const [a, b] = region.region.map((end, i) => toX(clamp(end === null ? (i ? high : low) : end, low, high)));
  pen.rect(a, box.top + box.height - 7, Math.max(2, b - a), 7, themeColor("second"));
}

/** Corners of the steps; where many share a pixel, its lowest and highest score represent them. */
function stepPoints(first, last, low, high, toX, toY) {
  const points = [[toX(low), toY(curve.scores[first])]];
  let i = first;
  while (i < last) {
    const x = toX(curve.origin + curve.steps[i]);
    let [bottom, top] = [curve.scores[i], curve.scores[i]];
    let j = i;
    while (j < last && toX(curve.origin + curve.steps[j]) <= x + 0.5) {
      bottom = Math.min(bottom, curve.scores[j + 1]); top = Math.max(top, curve.scores[j + 1]); j++;
    }
    if (j - i > 1) points.push([x, toY(curve.scores[i])], [x, toY(top)], [x, toY(bottom)], [x, toY(curve.scores[j])]);
    else points.push([x, toY(curve.scores[i])], [x, toY(curve.scores[j])]);
    i = j;
  }
  points.push([toX(high), toY(curve.scores[last])]);
  return points;
}

function tell() {
  if (!curve) return;
  const { best } = curve;
  const name = session.metric.name;
  const where = cursor === null ? weightOf(curve.feature) : cursor;
  const i = intervalAt(where);
  fill(readout, element("b", { title: `${name} ${best.shown_exact} at ${best.position}` }, `best ${name} ${best.shown}`), ` at ${shortNumber(best.position, 3)}, on an `, term("interval"), ` of width ${best.width_shown} · `,
    region && [term("on resamples", "region"), ` the best lies from ${shortNumber(region.region[0] ?? -Infinity, 3)} to ${shortNumber(region.region[1] ?? Infinity, 3)} (${region.share}, the bar below) · `],
    `${curve.intervals.toLocaleString("en")} intervals · ${cursor === null ? "here" : "pointer"}: ${shortNumber(where, 4)} → ${curve.scores[i].toFixed(curve.decimals)}`);
}

/** Go into the middle of the interval at a weight. */
function goToInterval(weight) {
  if (!curve || isReport || state.locked.has(curve.feature)) return;
  const i = intervalAt(weight);
  const [low, high] = shownRange();
  const start = i ? curve.origin + curve.steps[i - 1] : low;
  const stop = i < curve.steps.length ? curve.origin + curve.steps[i] : high;
  remember();
  setWeight(curve.feature, start / 2 + stop / 2);
}

function goToBest() {
  if (!curve) return;
  remember();
  setWeight(curve.feature, curve.best.position);
}

function zoomLine(factor, about = weightOf(state.feature)) {
  if (!curve) return;
  const [low, high] = shownRange();
  range = [about - (about - low) * factor, about + (high - about) * factor];
  picture.redraw();
}

function lineKey(event) {
  if (!curve) return;
  const [low, high] = shownRange();
  const step = (high - low) / 100;
  const here = cursor === null ? weightOf(curve.feature) : cursor;
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") cursor = here + (event.key === "ArrowLeft" ? -step : step);
  else if (event.key === "Enter" || event.key === " ") goToInterval(here);
  else if (event.key === "+" || event.key === "-") zoomLine(event.key === "+" ? 0.6 : 1.6);
  else return;
  event.preventDefault();
  tell();
  picture.redraw();
}

function lineRows() {
  const ends = (i) => [i ? curve.origin + curve.steps[i - 1] : "", i < curve.steps.length ? curve.origin + curve.steps[i] : ""];
  const name = session.features[curve.feature].name;
  return [[`${name} from`, `${name} to`, session.metric.name], ...Array.from(curve.scores, (score, i) => [...ends(i), score])];
}
