// What the page is about: weights with their history, the view, the sentence, the filter; kept in the address.

import { isServed } from "./elements.js";
import { openedRuns } from "./server.js";

export const state = {
  base: 0, set: new Map(), locked: new Set(),
  view: "line", feature: 0, axes: [0, 1], window: null, sentence: null, fan: null,
  order: "worst", against: 0, filter: {}, trace: 0, scale: "linear",
};
export const session = {};

const listeners = new Set();
const past = [], future = [];

/** Call `listener(what)` after every change; `what` is "weights", "view", "sentence", "filter" or "all". */
export const listen = (listener) => listeners.add(listener);

export function changed(what) {
  for (const listener of listeners) listener(what);
  saveLater();
}

/** The weight of a feature as it is now. */
export const weightOf = (d) => (state.set.has(d) ? state.set.get(d) : session.weights[state.base][d]);

/** Weights as requests have them. */
export const asked = () => ({ base: state.base, set: [...state.set].sort((a, b) => a[0] - b[0]) });

const snapshot = () => ({ base: state.base, set: new Map(state.set) });
const same = (a, b) => a.base === b.base && a.set.size === b.set.size && [...a.set].every(([d, v]) => b.set.get(d) === v);

/** Remember the weights before a gesture that will change them. */
export function remember() {
  const now = snapshot();
  if (past.length && same(past[past.length - 1], now)) return;
  past.push(now);
  if (past.length > 500) past.shift();
  future.length = 0;
}

function restore(from, to) {
  while (from.length) {
    const found = from.pop();
    const now = snapshot();
    if (same(found, now)) continue;
    to.push(now);
    state.base = found.base;
    state.set = new Map(found.set);
    changed("weights");
    return;
  }
}

export const undo = () => restore(past, future);
export const redo = () => restore(future, past);
export const canUndo = () => past.length > 0;
export const canRedo = () => future.length > 0;

/** Give one weight another value. */
export function setWeight(d, value) {
  if (!Number.isFinite(value) || state.locked.has(d)) return;
  if (value === session.weights[state.base][d]) state.set.delete(d);
  else state.set.set(d, value);
  changed("weights");
}

/** Go to weights as the server gives them. */
export function goTo({ base, set }) {
  remember();
  state.base = base;
  state.set = new Map(set.filter(([d]) => !state.locked.has(d)));
  changed("weights");
}

/** Go to a named file of weights; locked ones stay. */
export function goToNamed(base) {
  const kept = [...state.locked].map((d) => [d, weightOf(d)]);
  remember();
  state.base = base;
  state.set = new Map(kept.filter(([d, value]) => value !== session.weights[base][d]));
  changed("weights");
}

// ---- the address -----------------------------------------------------------------------------------------------

const SAVED = ["view", "feature", "axes", "window", "sentence", "fan", "order", "against", "filter", "trace", "scale"];
let saving = 0;

function saveLater() {
  clearTimeout(saving);
  if (!isServed()) return; // a report begins anew
  saving = setTimeout(() => history.replaceState(null, "", `#${fragment()}`), 150);
}

/** The state as the fragment of an address. */
export function fragment() {
  const kept = { base: state.base, set: [...state.set], locked: [...state.locked] };
  for (const name of SAVED) kept[name] = state[name];
  const runs = openedRuns();
  return `${runs.length ? `open=${runs.join(".")}&` : ""}s=${encodeURIComponent(JSON.stringify(kept))}`;
}

/** Take up the state of the address; what does not fit the session is left as it is. */
export function loadFragment() {
  const found = /(?:^#|&)s=([^&]+)/.exec(location.hash);
  if (!found) return;
  let kept;
  try {
    kept = JSON.parse(decodeURIComponent(found[1]));
  } catch {
    return;
  }
  const n = session.features.length;
  const isFeature = (d) => Number.isInteger(d) && d >= 0 && d < n;
  if (Number.isInteger(kept.base) && kept.base >= 0 && kept.base < session.named.length) state.base = kept.base;
  if (Array.isArray(kept.set)) {
    state.set = new Map(kept.set.filter((item) => Array.isArray(item) && isFeature(item[0]) && Number.isFinite(item[1])));
  }
  if (Array.isArray(kept.locked)) state.locked = new Set(kept.locked.filter(isFeature));
  const fits = {
    view: (v) => typeof v === "string", feature: isFeature, trace: Number.isInteger,
    axes: (v) => Array.isArray(v) && v.length === 2 && v.every((a) => Number.isInteger(a) && a >= 0 && a < n + session.named.length),
    window: (v) => v === null || (Array.isArray(v) && v.length === 4 && v.every(Number.isFinite)),
    sentence: (v) => v === null || (Number.isInteger(v) && v >= 0 && v < session.lists.sentences),
    fan: (v) => v === null || (Array.isArray(v) && v.length === 2 && v.every(isFeature)),
    order: (v) => ["worst", "best", "sentence"].includes(v),
    against: (v) => Number.isInteger(v) && v >= 0 && v < session.named.length,
    filter: (v) => v !== null && typeof v === "object" && !Array.isArray(v),
    scale: (v) => ["linear", "log"].includes(v),
  };
  for (const name of SAVED) if (kept[name] !== undefined && fits[name](kept[name])) state[name] = kept[name];
}
