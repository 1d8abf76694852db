// Numbers as texts for axes and fields. Scores come from the server as texts already: nothing is computed here.

/** A number with up to `digits` significant digits, without superfluous zeros. */
export function shortNumber(value, digits = 5) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = Number(value.toPrecision(digits)).toString();
  return text.replace("-", "−").replace(/e\+?/, "e");
}

/** A score as the server writes it: two digits behind the point, four where scores are between 0 and 1. */
export const scoreText = (value, like = value) => value.toFixed(like === 0 || Math.abs(like) > 1.5 ? 2 : 4).replace("-", "−");

/** A weight to a thousandth of what has the mean effect of a feature: what lies below is noise. */
export const weightNumber = (value, unit) => Number(unit > 0 ? value.toFixed(clamp(3 - Math.floor(Math.log10(unit)), 0, 100)) : value.toPrecision(5));

/** Round places for marks on an axis from `low` to `high`, about `count` of them. */
export function ticks(low, high, count = 6) {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => span / s <= count) || 10 * power;
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

/** A tick's text: as many digits as its step needs. */
export function tickText(value, step) {
  if (Math.abs(value) < step * 1e-6) return "0";
  const digits = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
  const size = Math.abs(value);
  return (size >= 1e6 || step < 1e-6 ? value.toExponential(2) : value.toFixed(digits)).replace("-", "−");
}

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/** The number of entries of an ascending array that are at most `value`. */
export function countBelow(array, value) {
  let low = 0, high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
