// Colours: those of the style sheet, light or dark, and a scale that is safe for colour-blind readers.

import { isServed } from "./elements.js";

export function themeColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Dark blue over teal to yellow: lightness rises all the way, so that it is read without hue as well.
const ANCHORS = [
  [22, 28, 84], [38, 62, 124], [44, 96, 142], [46, 128, 146], [62, 158, 138], [104, 186, 118], [166, 208, 92], [250, 230, 70],
];

/** Red, green and blue of a share from 0 (worst) to 1 (best). */
export function scaleColor(share) {
  const at = Math.min(1, Math.max(0, share)) * (ANCHORS.length - 1);
  const i = Math.min(ANCHORS.length - 2, Math.floor(at));
  const part = at - i;
  return ANCHORS[i].map((value, c) => Math.round(value + part * (ANCHORS[i + 1][c] - value)));
}

export const scaleText = (share) => `rgb(${scaleColor(share).join(",")})`;

/** Where a score lies between the ends of the scale; the best end is bright, whatever the metric's direction. */
export function shareOf(score, low, high, higherIsBetter) {
  if (!(high > low)) return 1;
  const share = (score - low) / (high - low);
  return higherIsBetter ? share : 1 - share;
}

const THEME = "luthier-theme";

/** Follow the system, or what the reader chose last. */
export function applyTheme() {
  const chosen = !isServed() ? null : localStorage.getItem(THEME);
  if (chosen) document.documentElement.dataset.theme = chosen;
}

export function toggleTheme() {
  const dark = themeColor("scheme") === "dark";
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  if (isServed()) localStorage.setItem(THEME, dark ? "light" : "dark");
  document.dispatchEvent(new Event("themechange"));
}
