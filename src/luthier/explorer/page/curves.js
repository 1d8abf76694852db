// Response curves: the weights of the bins of one feature against the values they represent.

import { drawAxes, Picture } from "./canvas.js";
import { themeColor } from "./colors.js";
import { chooser, element, fill } from "./elements.js";
import { pictureButtons } from "./export.js";
import { ask, isReport } from "./server.js";
import { asked, listen, state } from "./state.js";
import { term } from "./words.js";

let found = [], which = 0;
let picture, bar, readout;

export function makeCurves() {
  picture = new Picture("Weights of bins", drawCurve);
  bar = element("div", { class: "view-bar" });
  readout = element("p", { class: "readout" });
  listen((what) => { if (what === "weights") followCurves(); });
  return { element: element("div", { class: "view" }, bar, picture.element, readout), show: followCurves };
}

async function followCurves() {
  if (state.view !== "curves") return;
  const reply = await ask("curves", "curves", isReport ? { weights: asked() } : { weights: asked() });
  if (!reply) return;
  found = reply.curves;
  which = Math.min(which, Math.max(0, found.length - 1));
  fill(bar, element("label", {}, term("bins"), " of ", chooser("Feature cut into bins", found.map((c, i) => [i, c.feature]), which, (value) => { which = Number(value); picture.redraw(); })),
    pictureButtons("curve", picture, curveRows));
  readout.textContent = "Each bin's weight, at the mean value of the bin" + (found.length && found[which].bins[0].mean === null ? " (no bins were given: in their order)" : "");
  picture.redraw();
}

function drawCurve(pen, box) {
  const curve = found[which];
  if (!curve || !curve.bins.length) return;
  const xs = curve.bins.map((bin, i) => (bin.mean === null ? i : bin.mean)), ys = curve.bins.map((bin) => bin.weight);
  const fitted = curve.bins.map((bin) => bin.fitted ?? null);
  const all = [...ys, ...fitted.filter((v) => v !== null), 0];
  const [low, high] = [Math.min(...all), Math.max(...all)], pad = 0.08 * (high - low) || 1;
  const [left, right] = [Math.min(...xs), Math.max(...xs)], side = 0.03 * (right - left) || 1;
  const [toX, toY] = drawAxes(pen, box, { low: left - side, high: right + side, name: curve.feature }, { low: low - pad, high: high + pad, name: "weight" });
  pen.line([[box.left, toY(0)], [box.left + box.width, toY(0)]], themeColor("ink-soft"), 1, [2, 3]);
  const fit = xs.map((x, i) => [x, fitted[i]]).filter(([, y]) => y !== null);
  if (fit.length > 1) pen.line(fit.map(([x, y]) => [toX(x), toY(y)]), themeColor("second"), 1.4, [6, 3]);
  pen.line(xs.map((x, i) => [toX(x), toY(ys[i])]), themeColor("accent"), 1.8);
  xs.forEach((x, i) => pen.circle(toX(x), toY(ys[i]), 3.5, themeColor("accent")));
}

const curveRows = () => [["bin", "mean", "weight"], ...found[which].bins.map((bin) => [bin.name, bin.mean, bin.weight])];
