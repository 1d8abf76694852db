// Differences of two texts, word by word: what is gone is struck through, what is new underlined.

import { element } from "./elements.js";

const LONGEST = 400;

/** Pieces [kind, words] with kind "same", "gone" or "new", by the longest common subsequence. */
export function wordDiff(before, after) {
  const a = before.split(/\s+/).filter(Boolean).slice(0, LONGEST);
  const b = after.split(/\s+/).filter(Boolean).slice(0, LONGEST);
  const width = b.length + 1;
  const length = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i * width + j] = a[i] === b[j]
        ? length[(i + 1) * width + j + 1] + 1
        : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  const pieces = [];
  const add = (kind, word) => {
    const last = pieces[pieces.length - 1];
    if (last && last[0] === kind) last[1].push(word);
    else pieces.push([kind, [word]]);
  };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { add("same", a[i]); i++; j++; }
    else if (i < a.length && (j === b.length || length[(i + 1) * width + j] >= length[i * width + j + 1])) add("gone", a[i++]);
    else add("new", b[j++]);
  }
  return pieces;
}

/** A paragraph that shows how `after` differs from `before`. */
export function diffElement(before, after) {
  const shown = element("span", { class: "diff", dir: "auto" });
  for (const [kind, words] of wordDiff(before, after)) {
    const text = words.join(" ");
    shown.append(kind === "same" ? text : element(kind === "gone" ? "del" : "ins", {}, text), " ");
  }
  return shown;
}

/** A text whose words that are in the reference, in its order, are marked as found. */
export function matchElement(text, reference) {
  const shown = element("span", { class: "match", dir: "auto" });
  for (const [kind, words] of wordDiff(reference, text)) {
    if (kind === "gone") continue;
    shown.append(kind === "same" ? element("mark", {}, words.join(" ")) : words.join(" "), " ");
  }
  return shown;
}
