// Weights compared: interval and p-value, and the sentences that differ most.

import { diffElement } from "./diff.js";
import { button, chooser, element, fill } from "./elements.js";
import { csvButton } from "./export.js";
import { shortNumber } from "./numbers.js";
import { ask, isReport, openedRuns, reportHas } from "./server.js";
import { asked, changed, session, state } from "./state.js";
import { term } from "./words.js";

const HERE = "the weights here";
let found = null;
let result, baseline = 0;

export function makeCompare() {
  result = element("div", { class: "compare" }, element("p", { class: "hint" }, "Paired bootstrap and approximate randomisation over the sentences, as 'luthier compare' does it."));
  const names = session.named.map((item, i) => [i, item.name]);
  const bar = element("div", { class: "view-bar" },
    !isReport && element("label", {}, "baseline ", chooser("Baseline", names, baseline, (value) => { baseline = Number(value); })),
    !isReport && button("Compare", runCompare, { id: "compare", class: "primary" }),
    csvButton("comparison", () => (found ? [found.columns.slice(1), ...found.rows] : [])));
  const show = () => { if (state.view === "compare" && !found && (isReport ? reportHas("compare").length : openedRuns().length)) runCompare(); };
  return { element: element("div", { class: "view" }, bar, result), show };
}

async function runCompare() {
  fill(result, element("p", { class: "hint" }, "Resampling…"));
  const systems = session.named.map((_, i) => ({ base: i, set: [] }));
  const names = session.named.map((item) => item.name);
  const first = [systems.splice(baseline, 1)[0], names.splice(baseline, 1)[0]];
  const here = asked();
  const moved = here.set.length > 0 && !isReport;
  const body = { systems: [first[0], ...systems, ...(moved ? [here] : [])].slice(0, 8), names: [first[1], ...names, ...(moved ? [HERE] : [])].slice(0, 8) };
  if (body.systems.length < 2) {
    fill(result, element("p", { class: "hint" }, "There is one set of weights only: drag a weight first, or start with several --weights."));
    return;
  }
  found = await ask("compare", "compare", body);
  if (!found) { fill(result); return; }
  fill(result,
    element("table", { class: "plain", id: "compare-rows" },
      element("thead", {}, element("tr", {}, found.columns.slice(1).map((head) => element("th", { scope: "col" }, term(head))))),
      element("tbody", {}, found.rows.map((row) => element("tr", {}, row.map((value) => element("td", {}, value ?? "")))))),
    found.unseen_rows.length > 0 && [element("h3", {}, "The same on ", term("unseen"), " sentences"),
      element("table", { class: "plain", id: "compare-unseen" },
        element("thead", {}, element("tr", {}, found.unseen_columns.slice(1).map((head) => element("th", { scope: "col" }, term(head))))),
        element("tbody", {}, found.unseen_rows.map((row) => element("tr", {}, row.map((value) => element("td", {}, value ?? ""))))))],
    weightTable(body),
    element("h3", {}, "Sentences that differ most"),
    element("ul", { class: "differences" }, found.sentences.map((item) => element("li", {},
      element("span", { class: "row-head" }, button(item.id, () => { state.sentence = item.sentence; changed("sentence"); }, { class: "link" }),
        element("span", { class: "delta" }, `${item.system}: ${item.scores[0]} → ${item.scores[1]} (${item.shown})`), ` corpus ${item.effect}`),
      diffElement(item.before, item.after)))));
}

/** What the systems weigh, each brought to size 1; what differs most first. */
function weightTable(body) {
  const vectors = body.systems.map(({ base, set }) => { const own = [...session.weights[base]]; for (const [d, value] of set) own[d] = value; return own; });
  const sizes = vectors.map((own) => own.reduce((sum, value) => sum + Math.abs(value), 0) || 1);
  const rows = session.features.map((feature, d) => [feature.name, vectors.map((own, k) => own[d] / sizes[k])]);
  const spread = ([, values]) => Math.max(...values) - Math.min(...values);
  const shown = rows.filter((row) => spread(row) > 0).sort((a, b) => spread(b) - spread(a)).slice(0, 20);
  if (!shown.length) return null;
  return [element("h3", {}, "Weights, each of size 1; what differs most first"),
    element("table", { class: "plain", id: "compare-weights" },
      element("thead", {}, element("tr", {}, ["feature", ...body.names].map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, shown.map(([name, values]) => element("tr", {}, element("th", { scope: "row" }, name), values.map((value) => element("td", {}, shortNumber(value, 3)))))))];
}
