// What the words of the page mean, in one sentence each; tips for keyboard and touch; a tour of five steps.

import { button, byId, element, fill, isServed } from "./elements.js";

export const TERMS = {
  metric: "What a selection is scored by, with the same number that 'luthier score' prints; the arrow says which way is better.",
  against: "The weights that changes are counted from.",
  unseen: "Sentences that did not choose the weights, so that a gain on them is one that may last.",
  chip: "What the best value of this weight alone gains on the lists; behind the bar, on unseen sentences.",
  "resampled interval": "Where a weight lies when it is tuned again on sentences drawn anew; one that holds 0 cannot be told from 0.",
  lock: "Keeps a weight where it is.",
  unused: "Features whose weight changes nothing, each with the reason.",
  "log sliders": "Sliders that reach 64 units of effect in place of 4, finer near the start.",
  line: "The metric along one weight, all others fixed: every step is there, none is sampled.",
  interval: "A stretch of the line on which nothing changes.",
  region: "Where the best place lies on resamples of the sentences: the smaller, the surer it is.",
  surface: "The metric over two weights at once.",
  cell: "A piece of the plane within which every list keeps its winner.",
  area: "How much of the plane the cell takes, in units of the two weights.",
  "reached by floating point": "Whether re-ranking with weights of finite precision finds exactly this selection.",
  "trade-off": "Weights that no others beat in both metrics, from the best for one to the best for the other.",
  mix: "The point of the front whose smallest gain, in units of each metric's noise, is the largest.",
  "changed sentences": "Sentences whose winner differs from that of the weights compared with.",
  winner: "The hypothesis with the highest sum of weight times feature.",
  second: "The first hypothesis with other words, and by how much it lost.",
  overturn: "The smallest change of one weight that brings other words to the top.",
  "what the score is made of": "Weight times feature, for winner and second; the last column is their difference.",
  agreement: "How much of it the other hypotheses of the list say too; what many say is rarely far off.",
  fan: "Which directions of two weights, all others 0, select which hypothesis.",
  derivation: "The rules that made the winner, the upper before the lower.",
  gain: "The metric, turned so that more is better.",
  "held-out gain": "The gain on sentences that were kept apart from tuning.",
  mean: "The score; of several runs, their mean.",
  s_sel: "How much the score varies with the choice of sentences, as a standard deviation.",
  s_opt: "How much the score varies from one run of the tuner to another.",
  "p (these runs)": "How often chance alone would make a difference this large, for exactly these outputs.",
  "p (other runs)": "The same, if the tuner ran again: it needs several runs.",
  Welch: "A t-test over runs, where there are several.",
  "Δ": "The score less that of the baseline.",
  "95 % interval": "Where the difference lies for 95 % of resamples of the sentences.",
  "bins": "Features that are 1 where another feature lies in a range: their weights make a curve.",
};

/** A word with its meaning: seen by pointer, by keyboard and by touch. */
export function term(word, key = word) {
  const said = TERMS[key];
  return said ? element("span", { class: "term", tabindex: 0, title: said }, word) : word;
}

/** All words with their meanings, for the help. */
export const glossary = () => element("details", {}, element("summary", {}, "What the words mean"),
  element("dl", { class: "glossary" }, Object.entries(TERMS).map(([word, said]) => [element("dt", {}, word), element("dd", {}, said)])));

/** Show titles where a browser does not: when a control has the focus by keyboard, or a word is tapped. */
export function makeTips() {
  const tip = element("div", { id: "tip", role: "tooltip", hidden: true });
  document.body.append(tip);
  const hide = () => { tip.hidden = true; };
  const show = (target) => {
    const said = target.getAttribute("title");
    if (!said) { hide(); return; }
    tip.textContent = said;
    tip.hidden = false;
    const at = target.getBoundingClientRect();
    const left = Math.max(6, Math.min(at.left, innerWidth - tip.offsetWidth - 6));
    const below = at.bottom + 6 + tip.offsetHeight < innerHeight;
    tip.style.left = `${left}px`;
    tip.style.top = `${below ? at.bottom + 6 : Math.max(6, at.top - tip.offsetHeight - 6)}px`;
  };
  document.addEventListener("focusin", (event) => { if (event.target.matches("[title]:focus-visible")) show(event.target); else hide(); });
  document.addEventListener("focusout", hide);
  document.addEventListener("pointerup", (event) => { const word = event.target.closest?.(".term"); if (word && event.pointerType === "touch") show(word); else if (!word) hide(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
}

// ---- the tour -------------------------------------------------------------------------------------------------------

const SEEN = "luthier-tour=seen";
const STEPS = [
  ["#header", "The score", "The metric of what the weights select. It follows every move; beside it stand the change against other weights, and, where there are any, the score on unseen sentences."],
  ["#weights", "The weights", "Drag a slider. The chip beside a weight says what its best value alone would gain; the filled one gains most. A click on it goes there."],
  ["#view", "The picture", "The exact curve along one weight. Other tabs: the surface over two weights, the trade-off with another metric, the comparison of files of weights."],
  ["#changes", "What changes", "The sentences whose winner changes: struck through what is gone, underlined what is new. Click one."],
  ["#sentence", "Why did it win?", "The list of that sentence, what its score is made of, what would overturn it, and who agrees with it."],
];
let step = 0;

/** Begin the tour, at the first visit or when asked for. */
export function startTour() {
  step = 0;
  showStep();
}

export function offerTour() {
  if (isServed() && !document.cookie.split("; ").includes(SEEN)) startTour();
}

function showStep() {
  document.querySelectorAll(".toured").forEach((place) => place.classList.remove("toured"));
  const tour = byId("tour");
  if (step >= STEPS.length) { leaveTour(); return; }
  const [place, title, text] = STEPS[step];
  const target = document.querySelector(place);
  target.classList.add("toured");
  if (matchMedia("(max-width: 900px)").matches) target.scrollIntoView({ block: "start" });
  const next = button(step + 1 < STEPS.length ? "Next" : "Done", () => { step += 1; showStep(); }, { class: "primary", id: "tour-next" });
  fill(tour, element("p", { class: "hint" }, `${step + 1} of ${STEPS.length}`), element("h2", {}, title), element("p", {}, text),
    element("div", { class: "tools" }, next, step > 0 && button("Back", () => { step -= 1; showStep(); }), step + 1 < STEPS.length && button("Leave the tour", leaveTour, { id: "tour-leave" })));
  tour.hidden = false;
  if (step > 0) next.focus();
}

function leaveTour() {
  document.querySelectorAll(".toured").forEach((place) => place.classList.remove("toured"));
  byId("tour").hidden = true;
  if (isServed()) document.cookie = `${SEEN}; max-age=31536000; path=/; SameSite=Strict`;
}
