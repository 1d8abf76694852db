// The metric over two weights: a raster, first coarse, then fine; closer in, every cell with its sides.

import { drawAxes, Picture } from "./canvas.js";
import { scaleColor, scaleText, shareOf, themeColor } from "./colors.js";
import { announce, button, chooser, element, fill } from "./elements.js";
import { pictureButtons } from "./export.js";
import { scoreText, shortNumber } from "./numbers.js";
import { ask, askWaiting, isReport, reportHas } from "./server.js";
import { term } from "./words.js";
import { asked, changed, goTo, listen, session, state, weightOf } from "./state.js";

const STAGES = [48, 128, 384];
let shown = null; // the newest answer, with the weights it is about
let region = null, resting = 0;
let chosenCell = null, pointer = null, grabbed = null, loading = 0;
let picture, readout, pickers, about;

export function makeSurface() {
  picture = new Picture("The metric over two weights", drawSurface, { left: 62, right: 96, top: 24, bottom: 40 });
  readout = element("p", { class: "readout", id: "surface-readout" });
  about = element("div", { class: "cell-about" });
  listenToPointer(picture.canvas);
  pickers = [0, 1].map((i) => chooser(i ? "Vertical axis" : "Horizontal axis", axisOptions(), state.axes[i], (value) => pickAxis(i, Number(value)), { id: `axis-${i}` }));
  const bar = element("div", { class: "view-bar" }, isReport ? pairPicker() : [element("label", {}, term("over", "surface"), " ", pickers[0]), element("label", {}, "and ", pickers[1])],
    !isReport && [
      button("−", () => zoomSurface(1.6), { "aria-label": "Zoom out", title: "Zoom out" }),
      button("+", () => zoomSurface(0.6), { "aria-label": "Zoom in", title: "Zoom in", id: "zoom-in" }),
      button("Usual", () => setWindow(null), { title: "The usual window" }),
      button("Region", findRegion, { id: "surface-region", title: "Where the best cell of this window lies on resamples of the sentences: each visits all cells, which may take a while" })],
    pictureButtons("surface", picture, surfaceRows));
  listen((what) => { if (what === "weights" || what === "view" || what === "all") followSurface(); });
  return { element: element("div", { class: "view" }, bar, element("div", { class: "surface-row" }, picture.element, about), readout), show: followSurface };
}

function axisOptions() {
  const features = session.features.map((f, d) => [d, f.name]).filter(([d]) => !session.features[d].unused);
  const named = session.named.map((item, i) => [session.features.length + i, `direction ${item.name}`]);
  return [...features, ...named];
}

function pairPicker() {
  const pairs = reportHas("surfaces");
  const name = (a) => session.features[a].name;
  if (pairs.length) state.axes = pairs[0];
  return chooser("Pair of features", pairs.map((p, i) => [i, `${name(p[0])} and ${name(p[1])}`]), 0, (value) => {
    state.axes = pairs[Number(value)];
    followSurface();
  });
}

function pickAxis(i, value) {
  const axes = [...state.axes];
  if (axes[1 - i] === value) axes[1 - i] = axes[i];
  axes[i] = value;
  state.axes = axes;
  state.window = null;
  chosenCell = null;
  fill(about);
  pickers.forEach((picker, k) => { picker.value = String(axes[k]); });
  changed("view");
}

const isFeatureAxis = (axis) => axis < session.features.length;

/** The weights apart from the two axes: the picture holds as long as these stay. */
function apart() {
  const fixed = state.axes.every(isFeatureAxis) ? state.axes : [];
  const { base, set } = asked();
  return JSON.stringify([base, set.filter(([d]) => !fixed.includes(d)), state.axes]);
}

/** The window relative to the weights that a picture is about; kept in the address as weights themselves. */
function relativeWindow(origin) {
  return state.window && state.window.map((end, i) => end - origin[i >> 1]);
}

const originNow = () => state.axes.map((axis) => (isFeatureAxis(axis) ? weightOf(axis) : 0));

async function followSurface() {
  if (state.view !== "surface") return;
  if (!isReport) pickers.forEach((picker, i) => { picker.value = String(state.axes[i]); });
  const key = JSON.stringify([apart(), state.window]);
  if (shown && shown.key === key) { tellSurface(); picture.redraw(); return; }
  const sameAnchor = shown && shown.apart === apart();
  const anchor = sameAnchor ? shown.anchor : asked();
  const origin = sameAnchor ? shown.origin : originNow();
  const turn = (loading += 1);
  for (const pixels of isReport ? [256] : STAGES) {
    const body = { weights: anchor, axes: state.axes, window: relativeWindow(origin), pixels };
    const found = await ask("surface", "surface", isReport ? { axes: state.axes, weights: { base: 0, set: [] } } : body, { abort: true });
    if (turn !== loading) return;
    if (!found) { tellSurface(); return; }
    shown = { ...found, key, apart: apart(), anchor };
    paintRaster();
    tellSurface();
    picture.redraw();
    if (found.form === "cells") break;
  }
  picture.canvas.dataset.ready = key;
  region = null;
  clearTimeout(resting);
  if (shown.form === "cells" && !isReport) resting = setTimeout(findRegion, 700); // few cells: it is soon there
  announce(`surface: ${shown.form === "cells" ? `${shown.cells} cells` : "raster"}, best ${session.metric.name} ${shown.best_shown}`);
}

function extremes() {
  let low = Infinity, high = -Infinity;
  for (const score of shown.scores) { if (score < low) low = score; if (score > high) high = score; }
  return [low, high];
}

async function findRegion() {
  if (!shown) return;
  const about = shown.key;
  readout.textContent = "Resampling…";
  const found = await askWaiting("plane region", "region", { weights: shown.anchor, axes: state.axes, window: shown.limits });
  if (!found || !found.share || !shown || shown.key !== about) { tellSurface(); return; }
  region = found;
  picture.canvas.dataset.region = JSON.stringify(found.centre);
  tellSurface();
  picture.redraw();
}

/** The region as an ellipse, and the best place of each resample. */
function drawRegion(pen, place) {
  if (!region) return;
  const [a, b] = region.axes, [x, y] = region.centre;
  const ring = Array.from({ length: 73 }, (_, k) => { const t = (k * Math.PI) / 36; return place([x + Math.cos(t) * a[0] + Math.sin(t) * b[0], y + Math.cos(t) * a[1] + Math.sin(t) * b[1]]); });
  for (const [color, width] of [["#000", 4], ["#fff", 2]]) pen.line(ring, color, width);
  for (const point of region.places) pen.circle(...place(point), 2, "#fff");
}

/** Lay the raster on a canvas of its own, one pixel each. */
function paintRaster() {
  shown.extremes = extremes();
  if (shown.form !== "raster") return;
  const n = shown.pixels;
  const board = element("canvas", { width: n, height: n });
  const context = board.getContext("2d");
  const image = context.createImageData(n, n);
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      const color = scaleColor(shareOf(shown.scores[row * n + column], ...shown.extremes, session.metric.higher_is_better));
      image.data.set([...color, 255], 4 * ((n - 1 - row) * n + column));
    }
  }
  context.putImageData(image, 0, 0);
  shown.board = board;
}

/** What is seen, as weights: [x low, x high, y low, y high]. */
const seen = () => shown.limits.map((end, i) => end + shown.origin[i >> 1]);

function drawSurface(pen, box) {
  if (!shown) return;
  const [x0, x1, y0, y1] = seen();
  const axisName = (i) => (isFeatureAxis(state.axes[i]) ? `weight of ${shown.names[i]}` : `× ${shown.names[i]}, added to the weights`);
  const [toX, toY] = drawAxes(pen, box, { low: x0, high: x1, name: axisName(0) }, { low: y0, high: y1, name: axisName(1) });
  const place = ([x, y]) => [toX(x + shown.origin[0]), toY(y + shown.origin[1])];
  pen.clip(box.left, box.top, box.width, box.height, () => {
    if (shown.form === "raster") pen.image(shown.board, box.left, box.top, box.width, box.height);
    else drawCells(pen, place);
    if (chosenCell) pen.polygon(chosenCell.polygon.map((p) => place(p.map((v, i) => clampInfinite(v, i)))), null, themeColor("here"));
    drawRegion(pen, place);
    drawHere(pen, box, toX, toY);
  });
  drawScale(pen, box);
}

const clampInfinite = (value, i) => (value === null ? shown.limits[2 * i] : value);

/**
 * Cells in their colours, sides included: between two that were filled alone the ground would shine through. Corners are
 * laid on quarters of pixels: Chromium leaves holes in polygons with very short sides.
 */
function drawCells(pen, place) {
  const { offsets, corners, scores, extremes: ends } = shown;
  const polygons = [];
  for (let c = 0; c + 1 < offsets.length; c++) {
    const points = [];
    for (let k = offsets[c]; k < offsets[c + 1]; k++) {
      const [x, y] = place([corners[2 * k], corners[2 * k + 1]]).map((value) => Math.round(4 * value) / 4);
      const before = points[points.length - 1];
      if (!before || before[0] !== x || before[1] !== y) points.push([x, y]);
    }
    if (points.length < 2 || points.some(([x, y]) => !Number.isFinite(x + y))) continue;
    const color = scaleText(shareOf(scores[c], ...ends, session.metric.higher_is_better));
    pen.polygon(points, color, color);
    polygons.push(points);
  }
  const line = themeColor("cell-line");
  if (polygons.length < 4000) polygons.forEach((points) => pen.polygon(points, null, line));
}

/** A cross where the weights are. */
function drawHere(pen, box, toX, toY) {
  if (!state.axes.every(isFeatureAxis)) { cross(pen, toX(0), toY(0)); return; }
  cross(pen, toX(weightOf(state.axes[0])), toY(weightOf(state.axes[1])));
  if (pointer) pen.circle(toX(pointer[0]), toY(pointer[1]), 3, themeColor("here"));
}

function cross(pen, x, y) {
  for (const [color, width] of [["#000", 4], ["#fff", 2]]) {
    pen.line([[x - 8, y], [x + 8, y]], color, width);
    pen.line([[x, y - 8], [x, y + 8]], color, width);
  }
}

function drawScale(pen, box) {
  const x = box.left + box.width + 16, height = Math.min(box.height, 180);
  const [low, high] = shown.extremes;
  for (let i = 0; i < 60; i++) pen.rect(x, box.top + (i * height) / 60, 14, height / 60 + 0.5, scaleText(1 - i / 59));
  const [top, bottom] = session.metric.higher_is_better ? [high, low] : [low, high];
  pen.text(x + 20, box.top + 6, scoreText(top, high), themeColor("ink"), "left");
  pen.text(x + 20, box.top + height - 6, scoreText(bottom, high), themeColor("ink"), "left");
  pen.text(x + 20, box.top + height / 2, session.metric.name, themeColor("ink-soft"), "left");
}

function tellSurface() {
  if (!shown) { readout.textContent = isReport ? "This report has no surface." : "Computing…"; return; }
  const what = shown.form === "cells" ? `${shown.cells.toLocaleString("en")} cells, exactly` : `${shown.pixels}² points, each exact`;
  const at = pointer ? ` · pointer ${placeText(pointer)}` : "";
  const moves = region ? ` · the ring holds the best place of ${region.share}` : "";
  readout.textContent = `${what} · best seen ${shown.best_shown}${moves}${at}${isReport ? "" : " · click goes there, drag moves, wheel zooms"}`;
}

/** A place of the plane as weights by name; along a file of weights, how much of it is added. */
const placeText = (point) => point.map((v, i) => (isFeatureAxis(state.axes[i]) ? `${shown.names[i]} ${shortNumber(v, 4)}` : `${shortNumber(v, 4)} × ${shown.names[i]}`)).join(", ");

// ---- going about -----------------------------------------------------------------------------------------------------

function toPlane([x, y]) {
  const { left, top, width, height } = picture.box;
  const [x0, x1, y0, y1] = seen();
  return [x0 + ((x - left) / width) * (x1 - x0), y1 - ((y - top) / height) * (y1 - y0)];
}

function setWindow(window) {
  state.window = window;
  changed("view");
}

function zoomSurface(factor, centre = null) {
  if (!shown) return;
  const [x0, x1, y0, y1] = seen();
  const [cx, cy] = centre || pointer || (state.axes.every(isFeatureAxis) ? state.axes.map(weightOf) : [0, 0]);
  const inside = cx > x0 && cx < x1 && cy > y0 && cy < y1;
  const [ax, ay] = inside ? [cx, cy] : [(x0 + x1) / 2, (y0 + y1) / 2];
  setWindow([ax + (x0 - ax) * factor, ax + (x1 - ax) * factor, ay + (y0 - ay) * factor, ay + (y1 - ay) * factor]);
}

function listenToPointer(canvas) {
  if (isReport) return;
  canvas.addEventListener("pointerdown", (event) => { grabbed = { at: picture.at(event), seen: shown && seen(), moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (!shown) return;
    const now = picture.at(event);
    if (grabbed && Math.hypot(now[0] - grabbed.at[0], now[1] - grabbed.at[1]) > 5) grabbed.moved = true;
    if (grabbed && grabbed.moved) pan(now);
    else { pointer = toPlane(now); tellSurface(); picture.redraw(); }
  });
  canvas.addEventListener("pointerup", (event) => {
    const was = grabbed;
    grabbed = null;
    if (was && !was.moved && shown) lookAtCell(toPlane(picture.at(event)));
  });
  canvas.addEventListener("pointerleave", () => { pointer = null; picture.redraw(); });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoomSurface(event.deltaY < 0 ? 0.7 : 1.4, toPlane(picture.at(event))); }, { passive: false });
  canvas.addEventListener("keydown", surfaceKey);
}

function pan(now) {
  const { width, height } = picture.box;
  const [x0, x1, y0, y1] = grabbed.seen;
  const dx = ((now[0] - grabbed.at[0]) / width) * (x1 - x0), dy = ((now[1] - grabbed.at[1]) / height) * (y1 - y0);
  setWindow([x0 - dx, x1 - dx, y0 + dy, y1 + dy]);
}

function surfaceKey(event) {
  if (!shown) return;
  const [x0, x1, y0, y1] = seen();
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  if (moves[event.key]) {
    const from = pointer || state.axes.map((a) => (isFeatureAxis(a) ? weightOf(a) : 0));
    pointer = [from[0] + (moves[event.key][0] * (x1 - x0)) / 40, from[1] + (moves[event.key][1] * (y1 - y0)) / 40];
  } else if (event.key === "Enter" || event.key === " ") {
    if (pointer) lookAtCell(pointer);
  } else if (event.key === "+" || event.key === "-") zoomSurface(event.key === "+" ? 0.6 : 1.6);
  else if (event.key === "0") setWindow(null);
  else return;
  event.preventDefault();
  tellSurface();
  picture.redraw();
}

async function lookAtCell([x, y]) {
  const body = { weights: shown.anchor, axes: state.axes, window: shown.limits, x: x - shown.origin[0], y: y - shown.origin[1] };
  const found = await ask("cell", "cell", body);
  if (!found) return;
  chosenCell = found;
  goTo(found.weights);
  fill(about, element("h3", {}, "This ", term("cell")),
    element("dl", {}, [
      [session.metric.name, found.shown], found.unseen !== null && ["on unseen sentences", `${found.unseen} (${found.unseen_change} against the start)`],
      ...found.named.map(([name, value]) => [`weight of ${name}`, value]), ["area", found.sized],
      ["reached by floating point", found.representable ? "yes, for certain" : "not for certain"]].filter(Boolean).map(([k, v]) => [element("dt", {}, term(k)), element("dd", {}, v)])),
    element("h4", {}, "Beyond its sides"),
    element("ul", {}, found.neighbours.map((item) => element("li", {},
      button(`${item.id}`, () => { state.sentence = item.sentence; changed("sentence"); }, { class: "link", title: "Why did it win?" }),
      ` → ${item.shown} (${item.change}) `, element("span", { dir: "auto", class: "quote" }, item.text)))));
  announce(`cell with ${session.metric.name} ${found.shown}`);
  picture.redraw();
}

function surfaceRows() {
  const name = session.metric.name;
  if (shown.form === "cells") {
    const rows = [["cell", ...shown.names, name]];
    for (let c = 0; c + 1 < shown.offsets.length; c++) {
      for (let k = shown.offsets[c]; k < shown.offsets[c + 1]; k++) {
        rows.push([c, shown.corners[2 * k] + shown.origin[0], shown.corners[2 * k + 1] + shown.origin[1], shown.scores[c]]);
      }
    }
    return rows;
  }
  const n = shown.pixels, [x0, x1, y0, y1] = seen();
  const rows = [[...shown.names, name]];
  shown.scores.forEach((score, i) => rows.push([x0 + ((i % n) + 0.5) / n * (x1 - x0), y0 + (Math.floor(i / n) + 0.5) / n * (y1 - y0), score]));
  return rows;
}
