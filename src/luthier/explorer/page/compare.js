// Weights compared: interval and p-value, and the sentences that differ most.

import { diffElement } from "./diff.js";
import { button, chooser, element, fill } from "./elements.js";
import { csvButton } from "./export.js";
import { ask, isReport, reportHas } from "./server.js";
import { asked, changed, session, state } from "./state.js";

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
  const show = () => { if (isReport && state.view === "compare" && reportHas("compare").length) runCompare(); };
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
    element("table", { class: "plain" },
      element("thead", {}, element("tr", {}, found.columns.slice(1).map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, found.rows.map((row) => element("tr", {}, row.map((value) => element("td", {}, value ?? "")))))),
    element("h3", {}, "Sentences that differ most"),
    element("ul", { class: "differences" }, found.sentences.map((item) => element("li", {},
      element("span", { class: "row-head" }, button(item.id, () => { state.sentence = item.sentence; changed("sentence"); }, { class: "link" }),
        element("span", { class: "delta" }, `${item.system}: ${item.scores[0]} → ${item.scores[1]} (${item.shown})`), ` corpus ${item.effect}`),
      diffElement(item.before, item.after)))));
}
