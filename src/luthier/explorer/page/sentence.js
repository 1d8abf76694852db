// Why did it win? One sentence: its list, the score taken apart, what would overturn it, its derivation, its fan.

import { diffElement, matchElement } from "./diff.js";
import { button, byId, element, fill } from "./elements.js";
import { csvButton } from "./export.js";
import { fanElement } from "./fan.js";
import { ask, isReport } from "./server.js";
import { asked, goTo, listen, session, state, weightOf } from "./state.js";
import { term } from "./words.js";

let current = null;

export function makeSentence() {
  listen((what) => { if (what !== "view" && what !== "filter" && what !== "score") followSentence(); });
  welcome();
}

function welcome() {
  fill(byId("sentence"), element("div", { class: "panel-head" }, element("h2", {}, "Why did it win?")),
    element("p", { class: "hint padded" }, "Choose a changed sentence to see its list, what its score is made of, and what would overturn it."));
}

async function followSentence() {
  if (state.sentence === null) { welcome(); return; }
  const body = isReport ? { sentence: state.sentence, weights: asked() } : { weights: asked(), sentence: state.sentence, count: 20 };
  const found = await ask("sentence", "sentence", body);
  if (!found) return;
  current = found;
  const top = byId("sentence").querySelector(".padded");
  const scrolled = top ? top.scrollTop : 0;
  const open = new Set([...byId("sentence").querySelectorAll("details[open]")].map((d) => d.dataset.part));
  drawSentence(found, open);
  byId("sentence").querySelector(".padded").scrollTop = scrolled;
}

function drawSentence(found, open) {
  const [winner] = found.rows;
  const second = found.rows.find((row) => row.place === found.second);
  const reference = found.references[0] || "";
  const part = (name, title, ...content) => element("details", { "data-part": name, open: open.has(name) }, element("summary", {}, title), content);
  fill(byId("sentence"),
    element("div", { class: "panel-head" }, element("h2", {}, `Why did it win? ${found.id}`), csvButton("sentence", sentenceRows)),
    element("div", { class: "padded" },
      found.source && element("p", {}, element("i", {}, "source "), element("span", { dir: "auto" }, found.source)),
      found.references.map((text) => element("p", {}, element("i", {}, "reference "), element("span", { dir: "auto" }, text))),
      element("p", { class: "winner" }, element("i", {}, term("winner"), " "), !winner.text ? "(empty)" : reference ? matchElement(winner.text, reference) : element("span", { dir: "auto" }, winner.text),
        element("span", { class: "delta even" }, `${session.metric.name} ${winner.metric}`)),
      second ? element("p", {}, element("i", {}, term("second"), ` by ${found.gap} `), diffElement(winner.text, second.text),
        element("span", { class: "delta even" }, `${session.metric.name} ${second.metric}`)) : element("p", {}, "All hypotheses have the same words."),
      element("p", {}, oracleText(found)),
      second && overturns(found),
      element("h3", {}, term("What the score is made of", "what the score is made of"), second && ": winner, second"), bars(found),
      part("list", `the list: first ${Math.min(20, found.hypotheses)} of ${found.hypotheses}`, listTable(found)),
      found.derivation && part("tree", `derivation: ${found.derivation.length} rules`, tree(found.derivation)),
      !isReport && lazyPart(part("agree", "which other hypotheses agree with it"), () => agreementElement(found.sentence)),
      !isReport && lazyPart(part("fan", "fan over two features"), () => fanElement(found.sentence))));
}

/** What costs is asked for when its part is opened. */
function lazyPart(made, content) {
  const show = () => { if (made.open && made.childElementCount === 1) made.append(content()); };
  made.addEventListener("toggle", show);
  show();
  return made;
}

/** The texts of the list that are closest to the winner: what many say is rarely far off. */
function agreementElement(sentence) {
  const made = element("div", { class: "agreement" }, element("p", { class: "hint" }, "Comparing…"));
  ask("agreement", "agreement", { sentence, weights: asked() }).then((found) => {
    if (!found) return;
    if (!found.rows.length) { fill(made, element("p", { class: "hint" }, "There are no other words in the list.")); return; }
    fill(made,
      element("p", {}, `On average the ${found.others.toLocaleString("en")} other texts agree with it by ${found.utility} ${found.mean}.`,
        found.rank !== null && ` By agreement with the whole list (minimum Bayes risk) it is number ${found.rank} of ${found.of}, with an expected ${found.utility} of ${found.expected}.`),
      element("table", { class: "plain" },
        element("thead", {}, element("tr", {}, ["", found.utility, "text"].map((head) => element("th", { scope: "col" }, head)))),
        element("tbody", {}, found.rows.map((row) => element("tr", {}, element("td", {}, row.place + 1), element("td", {}, row.shown), element("td", {}, diffElement(current.rows[0].text, row.text)))))));
  });
  return made;
}

function oracleText(found) {
  if (found.oracle === 0) return "No hypothesis of the list is better by the metric.";
  const best = found.rows.find((row) => row.place === found.oracle);
  return `The best by the metric is hypothesis ${found.oracle + 1} of ${found.hypotheses}: ${session.metric.name} ${best.metric}.`;
}

function overturns(found) {
  if (!found.overturns.length) return element("p", {}, "No change of one weight overturns it.");
  return element("div", {}, element("h3", {}, "What would ", term("overturn"), " it"),
    element("ul", { class: "overturns" }, found.overturns.map((item) => {
      const name = session.features[item.feature].name;
      const press = () => goTo({ ...asked(), set: [...asked().set.filter(([d]) => d !== item.feature), [item.feature, weightOf(item.feature) + item.change * (1 + 1e-9)]] });
      return element("li", {}, isReport ? element("b", {}, `${name} ${item.shown}`) : button(`${name} ${item.shown}`, press, { class: "link", title: "Go just beyond" }), " → ",
        diffElement(found.rows[0].text, item.text));
    })));
}

function bars(found) {
  const largest = Math.max(...found.bars.flatMap((bar) => [Math.abs(bar.first), Math.abs(bar.second ?? 0)]), 1e-300);
  const bar = (value, kind) => {
    const made = element("span", { class: `bar ${kind} ${value < 0 ? "minus" : "plus"}` });
    made.style.width = `${(50 * Math.abs(value)) / largest}%`;
    return made;
  };
  return element("table", { class: "bars" }, element("tbody", {}, found.bars.map((item) => element("tr", {},
    element("th", { scope: "row" }, session.features[item.feature].name),
    element("td", { class: "bar-cell" }, bar(item.first, "first"), item.second !== null && bar(item.second, "second")),
    element("td", { class: "apart", title: "winner less second" }, item.apart)))));
}

function listTable(found) {
  return element("table", { class: "plain" },
    element("thead", {}, element("tr", {}, ["", "score", session.metric.name, "text"].map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, found.rows.map((row) => element("tr", { class: row.place === found.oracle ? "oracle" : "" },
      element("td", {}, row.place + 1), element("td", {}, row.score), element("td", {}, row.metric),
      element("td", {}, element("span", { dir: "auto" }, row.text))))));
}

/** The rules of the winner, indented by their depth. */
function tree(uses) {
  return element("ol", { class: "tree" }, uses.map((use) => {
    const item = element("li", {}, element("code", { dir: "auto" }, use.rule), use.words && element("span", { class: "words" }, ` words ${use.words[0]}–${use.words[1]}`),
      element("span", { class: "local" }, use.features.slice(0, 12).map(([name, value]) => ` ${name}=${Number(value.toPrecision(4))}`).join("")));
    item.style.marginInlineStart = `${Math.min(use.depth, 24) * 1.1}em`;
    return item;
  }));
}

const sentenceRows = () => [["place", "score", session.metric.name, "text"], ...current.rows.map((row) => [row.place + 1, row.score, row.metric, row.text])];
