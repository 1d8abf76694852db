// The fan of one sentence over two features: which directions of their weights select what, all others being 0.

import { Picture } from "./canvas.js";
import { scaleText, shareOf, themeColor } from "./colors.js";
import { chooser, element, fill } from "./elements.js";
import { pictureButtons } from "./export.js";
import { ask } from "./server.js";
import { asked, changed, session, state } from "./state.js";

/** A picture of the fan, with a choice of features. */
export function fanElement(sentence) {
  let found = null;
  const picture = new Picture("Fan of the sentence over two features", (pen, box) => found && drawFan(pen, box, found), { left: 8, right: 8, top: 8, bottom: 8 });
  picture.element.classList.add("fan");
  const legend = element("ul", { class: "legend" });
  const options = session.features.map((f, d) => [d, f.name]).filter(([d]) => !session.features[d].unused);
  const axes = state.fan || state.axes.filter((a) => a < session.features.length);
  while (axes.length < 2) axes.push(options.map(([d]) => d).find((d) => !axes.includes(d)) ?? 0);
  const load = async () => {
    found = await ask("fan", "fan", { sentence, axes, weights: asked() });
    if (!found) return;
    fill(legend, found.cones.map((cone, i) => element("li", {}, element("b", {}, `${i + 1} · ${session.metric.name} ${cone.metric} `), element("span", { dir: "auto" }, cone.text))));
    picture.redraw();
  };
  const pick = (i) => (value) => {
    const chosen = Number(value);
    if (axes[1 - i] === chosen) axes[1 - i] = axes[i];
    axes[i] = chosen;
    choosers.forEach((item, k) => { item.value = String(axes[k]); });
    state.fan = [...axes];
    changed("filter");
    load();
  };
  const choosers = [0, 1].map((i) => chooser(i ? "Second feature" : "First feature", options, axes[i], pick(i)));
  load();
  return element("div", {}, element("div", { class: "view-bar" }, choosers, pictureButtons("fan", picture)), picture.element, legend);
}

function drawFan(pen, box, found) {
  const cx = box.left + box.width / 2, cy = box.top + box.height / 2, radius = Math.min(box.width, box.height) / 2 - 14;
  const scores = found.cones.map((cone) => cone.score);
  const ends = [Math.min(...scores), Math.max(...scores)];
  const at = (angle, r = radius) => [cx + r * Math.cos(angle), cy - r * Math.sin(angle)];
  found.cones.forEach((cone, i) => {
    const from = cone.rays.length ? Math.atan2(cone.rays[0][1], cone.rays[0][0]) : 0;
    let to = cone.rays.length ? Math.atan2(cone.rays[1][1], cone.rays[1][0]) : 2 * Math.PI;
    if (cone.rays.length && to <= from) to += 2 * Math.PI;
    const points = [[cx, cy]];
    for (let k = 0; k <= 40; k++) points.push(at(from + ((to - from) * k) / 40));
    pen.polygon(points, scaleText(shareOf(cone.score, ...ends, session.metric.higher_is_better)), themeColor("cell-line"));
    if (to - from > 0.12) {
      const [x, y] = at((from + to) / 2, radius * 0.72);
      pen.circle(x, y, 9, themeColor("surface"));
      pen.text(x, y, String(i + 1), themeColor("ink"), "center");
    }
  });
  const [a, b] = found.weights;
  const length = Math.hypot(a, b);
  if (length > 0) {
    const [x, y] = at(Math.atan2(b, a));
    pen.line([[cx, cy], [x, y]], "#000", 4);
    pen.line([[cx, cy], [x, y]], "#fff", 2);
  }
  pen.text(cx + radius - 4, cy + 12, found.names[0], themeColor("ink"), "right");
  pen.text(cx + 6, cy - radius - 4, found.names[1], themeColor("ink"), "left");
}
