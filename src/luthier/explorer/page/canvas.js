// Pictures: the same drawing goes to a canvas of the page or to SVG for export.

import { themeColor } from "./colors.js";
import { element } from "./elements.js";
import { tickText, ticks } from "./numbers.js";

const FONT = "12px system-ui, sans-serif";

/** Draws on a canvas. */
class CanvasPen {
  constructor(context) { this.context = context; }

  line(points, color, width = 1, dash = []) {
    const c = this.context;
    c.beginPath();
    points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.strokeStyle = color; c.lineWidth = width; c.setLineDash(dash); c.stroke(); c.setLineDash([]);
  }

  polygon(points, fillColor, strokeColor = null) {
    const c = this.context;
    c.beginPath();
    points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    c.closePath();
    if (fillColor) { c.fillStyle = fillColor; c.fill(); }
    if (strokeColor) { c.strokeStyle = strokeColor; c.lineWidth = 1; c.stroke(); }
  }

  rect(x, y, width, height, color) { this.context.fillStyle = color; this.context.fillRect(x, y, width, height); }

  circle(x, y, radius, color) {
    const c = this.context;
    c.beginPath(); c.arc(x, y, radius, 0, 2 * Math.PI); c.fillStyle = color; c.fill();
  }

  text(x, y, content, color, align = "left") {
    const c = this.context;
    c.font = FONT; c.fillStyle = color; c.textAlign = align; c.textBaseline = "middle"; c.fillText(content, x, y);
  }

  image(source, x, y, width, height) {
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(source, x, y, width, height);
  }

  clip(x, y, width, height, draw) {
    const c = this.context;
    c.save(); c.beginPath(); c.rect(x, y, width, height); c.clip(); draw(); c.restore();
  }
}

/** Writes SVG. */
class SvgPen {
  constructor() { this.parts = []; this.clips = 0; }

  add(tag, attributes, content = "") {
    const text = Object.entries(attributes).map(([k, v]) => ` ${k}="${escapeXml(String(v))}"`).join("");
    this.parts.push(`<${tag}${text}>${content}</${tag}>`);
  }

  line(points, color, width = 1, dash = []) {
    this.add("polyline", { points: pairs(points), fill: "none", stroke: color, "stroke-width": width, "stroke-dasharray": dash.join(" ") || "none" });
  }

  polygon(points, fillColor, strokeColor = null) {
    this.add("polygon", { points: pairs(points), fill: fillColor || "none", stroke: strokeColor || "none" });
  }

  rect(x, y, width, height, color) { this.add("rect", { x, y, width, height, fill: color }); }
  circle(x, y, radius, color) { this.add("circle", { cx: x, cy: y, r: radius, fill: color }); }

  text(x, y, content, color, align = "left") {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    this.add("text", { x, y, fill: color, "font-size": 12, "font-family": "system-ui, sans-serif", "text-anchor": anchor, "dominant-baseline": "middle" }, escapeXml(content));
  }

  image(source, x, y, width, height) {
    this.add("image", { x, y, width, height, href: source.toDataURL("image/png"), preserveAspectRatio: "none", style: "image-rendering:pixelated" });
  }

  clip(x, y, width, height, draw) {
    this.clips += 1;
    this.parts.push(`<clipPath id="c${this.clips}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath><g clip-path="url(#c${this.clips})">`);
    draw();
    this.parts.push("</g>");
  }

  finish(width, height) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${this.parts.join("")}</svg>`;
  }
}

const pairs = (points) => points.map(([x, y]) => `${Math.round(x * 100) / 100},${Math.round(y * 100) / 100}`).join(" ");
const escapeXml = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

/** A picture with room for axes; `draw(pen, box)` draws it, `box` being {left, top, width, height} of the inside. */
export class Picture {
  constructor(label, draw, margins = { left: 58, right: 16, top: 24, bottom: 40 }) {
    this.draw = draw;
    this.margins = margins;
    this.canvas = element("canvas", { tabindex: 0, role: "img", "aria-label": label, class: "picture" });
    this.element = element("div", { class: "picture-frame" }, this.canvas);
    new ResizeObserver(() => this.redraw()).observe(this.element);
    document.addEventListener("themechange", () => this.redraw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  get box() {
    const { left, right, top, bottom } = this.margins;
    return { left, top, width: Math.max(10, this.width - left - right), height: Math.max(10, this.height - top - bottom) };
  }

  redraw() {
    if (this.planned) return;
    this.planned = requestAnimationFrame(() => { this.planned = 0; this.paint(); });
  }

  paint() {
    const ratio = devicePixelRatio || 1;
    this.width = this.element.clientWidth;
    this.height = this.element.clientHeight;
    if (!this.width || !this.height) return;
    const [w, h] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) { this.canvas.width = w; this.canvas.height = h; }
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paintWith(new CanvasPen(context));
    this.canvas.dataset.painted = String(performance.now());
  }

  paintWith(pen) {
    pen.rect(0, 0, this.width, this.height, themeColor("surface"));
    this.draw(pen, this.box);
  }

  svg() {
    const pen = new SvgPen();
    this.paintWith(pen);
    return pen.finish(this.width, this.height);
  }

  /** A place of the picture from a pointer event. */
  at(event) {
    const frame = this.canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }
}

/** Axes with marks: `x` and `y` are {low, high, name}. Returns functions from values to places. */
export function drawAxes(pen, box, x, y) {
  const toX = (value) => box.left + ((value - x.low) / (x.high - x.low)) * box.width;
  const toY = (value) => box.top + box.height - ((value - y.low) / (y.high - y.low)) * box.height;
  const [ink, grid] = [themeColor("ink-soft"), themeColor("grid")];
  const marksX = ticks(x.low, x.high, Math.max(3, Math.floor(box.width / 90)));
  const marksY = ticks(y.low, y.high, Math.max(2, Math.floor(box.height / 45)));
  const steps = [marksX, marksY].map((marks) => (marks.length > 1 ? marks[1] - marks[0] : 1));
  for (const mark of marksX) {
    pen.line([[toX(mark), box.top], [toX(mark), box.top + box.height]], grid);
    pen.text(toX(mark), box.top + box.height + 12, tickText(mark, steps[0]), ink, "center");
  }
  for (const mark of marksY) {
    pen.line([[box.left, toY(mark)], [box.left + box.width, toY(mark)]], grid);
    pen.text(box.left - 8, toY(mark), tickText(mark, steps[1]), ink, "right");
  }
  pen.text(box.left + box.width / 2, box.top + box.height + 28, x.name, ink, "center");
  if (y.name) pen.text(box.left, 11, y.name, ink, "left");
  return [toX, toY];
}
