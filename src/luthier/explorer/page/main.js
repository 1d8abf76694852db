// The page: header, tabs and panels, put together when the session is known.

import { makeChanges } from "./changes.js";
import { applyTheme, toggleTheme } from "./colors.js";
import { makeCompare } from "./compare.js";
import { makeCurves } from "./curves.js";
import { button, byId, chooser, complain, element, fill } from "./elements.js";
import { makeLine } from "./line.js";
import { showRuns } from "./runs.js";
import { makeSentence } from "./sentence.js";
import { ask, askSession, isReport, openedRuns, openSession, reportHas, takeToken, token } from "./server.js";
import { asked, canRedo, canUndo, changed, fragment, goToNamed, listen, loadFragment, redo, session, state, undo } from "./state.js";
import { makeSurface } from "./surface.js";
import { makeTraces } from "./traces.js";
import { makeTradeoff } from "./tradeoff.js";
import { makeWeights } from "./weights.js";
import { glossary, makeTips, offerTour, startTour, term } from "./words.js";

const views = new Map();

async function begin() {
  applyTheme();
  takeToken();
  try {
    Object.assign(session, await firstAnswer());
  } catch (error) {
    if (openedRuns().length) makeBrand("", runsButton()); // the way back to the table
    complain(error.message);
    return;
  }
  if (session.folders) { makeBrand("runs"); showRuns(); return; }
  document.title = `${session.title} · Luthier explorer`;
  const usable = session.features.map((_, d) => d).filter((d) => !session.features[d].unused);
  state.feature = usable[0] ?? 0;
  state.axes = [usable[0] ?? 0, usable[1] ?? 1];
  if (!isReport) loadFragment();
  makeHeader();
  makeWeights();
  makeChanges();
  makeSentence();
  makeViews(usable.length);
  listen((what) => {
    if (what === "view" || what === "all") showView();
    if (what === "weights" || what === "score" || what === "all") showScore();
    if (what === "weights" || what === "all") showUnseenLater();
  });
  document.addEventListener("keydown", shortcuts);
  changed("all");
  makeTips();
  if (!isReport) offerTour();
}

/** The session, once it is open; kernels may have to be compiled first. */
async function firstAnswer() {
  let found = await askSession();
  while (found.opening) {
    makeBrand(found.title, element("p", { id: "opening", role: "status" }, `${found.sentences.toLocaleString("en")} sentences, ${found.hypotheses.toLocaleString("en")} hypotheses. Compiling what computes the picture: this is needed once on a machine, and takes a minute or two.`));
    await new Promise((done) => setTimeout(done, 300));
    found = await askSession();
  }
  const runs = found.folders ? openedRuns() : [];
  if (!runs.length) return found;
  makeBrand("", element("p", { id: "opening", role: "status" }, "Opening the lists of the run…"));
  return openSession(runs);
}

/** A header before there is a session. */
function makeBrand(title, ...more) {
  fill(byId("header"), element("div", { class: "brand" }, element("h1", {}, "luthier"), element("span", {}, title)), more, element("span", { class: "score" }),
    element("div", { class: "buttons" }, button("◐", toggleTheme, { "aria-label": "Light or dark", title: "Light or dark" })));
}

const runsButton = () => openedRuns().length > 0 && button("Runs", () => { history.replaceState(null, "", location.pathname); location.reload(); }, { id: "back-to-runs", title: "Back to the table of runs" });

// ---- header -----------------------------------------------------------------------------------------------------------

function makeHeader() {
  const { metric, lists } = session;
  const against = chooser("Compared with", session.named.map((item, i) => [i, item.name]), state.against, (value) => { state.against = Number(value); changed("all"); }, { id: "against" });
  fill(byId("header"),
    element("div", { class: "brand" }, element("h1", {}, "luthier"), element("span", { title: `${lists.hypotheses.toLocaleString("en")} hypotheses, ${lists.features} features` },
      `${session.title} · ${lists.sentences.toLocaleString("en")} sentences`)),
    element("div", { class: "score" }, element("span", { class: "metric", title: metric.signature }, term(`${metric.name} ${metric.higher_is_better ? "↑" : "↓"}`, "metric")),
      element("output", { id: "score" }), element("span", { id: "delta", class: "delta" }), element("label", { class: "against" }, term("against"), " ", against),
      element("span", { id: "changed" })),
    session.unseen && element("div", { id: "unseen", class: "score", title: "The same weights on held-out sentences; the change is against the same weights as above, its interval is of 95 % by paired bootstrap" }),
    element("div", { class: "buttons" },
      runsButton(),
      !isReport && [
        button("↶", undo, { id: "undo", "aria-label": "Undo", title: "Undo (Ctrl+Z)" }), button("↷", redo, { id: "redo", "aria-label": "Redo", title: "Redo (Ctrl+Y)" }),
        button("Reset", () => goToNamed(0), { id: "reset", title: "Back to the start" }),
        button("Copy link", copyLink, { id: "copy", title: "A link that reopens this, with the token" })],
      button("◐", toggleTheme, { "aria-label": "Light or dark", title: "Light or dark" }),
      button("?", () => { fillHelp(); byId("help").showModal(); }, { "aria-label": "Help", title: "Help" })));
}

function showScore() {
  const found = state.latest;
  if (!isReport) { byId("undo").disabled = !canUndo(); byId("redo").disabled = !canRedo(); }
  if (!found) return;
  const better = found.better[state.against];
  byId("score").textContent = found.shown;
  byId("score").dataset.score = String(found.score);
  byId("delta").textContent = found.changes[state.against];
  byId("delta").className = `delta ${better > 0 ? "up" : better < 0 ? "down" : "even"}`;
  byId("changed").textContent = `${found.changed.toLocaleString("en")} changed`;
}

// ---- held-out sentences: after a drag, never during it ---------------------------------------------------------------

let unseenLater = 0;

function showUnseenLater() {
  if (!session.unseen) return;
  clearTimeout(unseenLater);
  unseenLater = setTimeout(showUnseen, isReport ? 0 : 250);
}

async function showUnseen() {
  const found = await ask("unseen", "unseen", { weights: asked(), against: state.against });
  if (!found) return;
  if (!found.sentences) { fill(byId("unseen"), element("span", { class: "hint" }, "no unseen score here: these weights were not cross-validated")); return; }
  const [low, high] = found.interval;
  fill(byId("unseen"), element("span", { class: "metric", title: found.by === "held-out" ? "Sentences that were held out" : `Each sentence re-ranked by weights that have not seen it: ${found.by}` }, `${found.sentences.toLocaleString("en")} `, term("unseen")),
    element("output", { id: "unseen-score" }, found.shown),
    element("span", { id: "unseen-delta", class: `delta ${found.better > 0 ? "up" : found.better < 0 ? "down" : "even"}` }, found.change),
    low !== undefined && element("span", { class: "against" }, `${low} … ${high}`),
    found.warning && element("span", { class: "delta down", id: "unseen-warning", title: `On these sentences ${found.warning}` }, "below one scorer"));
}

async function copyLink() {
  const address = `${location.origin}/#token=${token()}&${fragment()}`;
  try {
    await navigator.clipboard.writeText(address);
    byId("copy").textContent = "Copied";
  } catch {
    prompt("Copy this link:", address);
  }
  setTimeout(() => { byId("copy").textContent = "Copy link"; }, 1500);
}

function fillHelp() {
  const keys = [["Tab", "go from control to control"], ["← →", "move a slider, the pointer of a picture, a trace's state"], ["Enter", "go to the interval or cell under the pointer"],
    ["+ − 0", "zoom a picture; the usual window"], ["↑ ↓", "go through the changed sentences"], ["Ctrl+Z, Ctrl+Y", "undo, redo"], ["1 … 6", "choose a view"]];
  fill(byId("help"), element("h2", {}, "What is this?"),
    element("p", {}, "Each hypothesis is scored by the sum of weight times feature; the highest of each list wins. Drag a weight and see, at once, what the metric does and which sentences change."),
    element("p", {}, "To find the weight that hurts most, look for the filled chip: it says how much the best value of that weight alone would gain. Click it. The changed sentences below begin with those that the weight, as it was, has hurt most."),
    element("table", { class: "plain" }, element("tbody", {}, keys.map(([key, what]) => element("tr", {}, element("th", { scope: "row" }, key), element("td", {}, what))))),
    glossary(),
    element("p", { class: "hint" }, `${session.metric.name}: ${session.metric.signature} · luthier ${session.version} · seed ${session.seed}`),
    element("div", { class: "tools" }, button("Close", () => byId("help").close(), { class: "primary" }),
      button("Tour", () => { byId("help").close(); startTour(); }, { id: "start-tour", title: "Five steps through the page" })));
}

// ---- views ----------------------------------------------------------------------------------------------------------

function makeViews(usable) {
  if (usable > 0) views.set("line", ["Line", makeLine()]);
  if (usable > 1 && (!isReport || reportHas("surfaces").length)) views.set("surface", ["Surface", makeSurface()]);
  if (!isReport && session.metrics.length > 1) views.set("tradeoff", ["Trade-off", makeTradeoff()]);
  if (!isReport || reportHas("compare").length) views.set("compare", ["Compare", makeCompare()]);
  if (session.traces.length) views.set("traces", ["Traces", makeTraces()]);
  if (session.curves) views.set("curves", ["Curves", makeCurves()]);
  if (!views.has(state.view)) state.view = [...views.keys()][0];
  for (const [name, [title]] of views) {
    byId("tabs").append(button(title, () => { state.view = name; changed("view"); }, { role: "tab", id: `tab-${name}`, "aria-controls": "view" }));
  }
  byId("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const names = [...views.keys()];
    state.view = names[(names.indexOf(state.view) + step + names.length) % names.length];
    changed("view");
    byId(`tab-${state.view}`).focus();
  });
}

function showView() {
  for (const name of views.keys()) {
    const tab = byId(`tab-${name}`);
    tab.setAttribute("aria-selected", String(name === state.view));
    tab.tabIndex = name === state.view ? 0 : -1;
  }
  const [, view] = views.get(state.view);
  if (byId("view").firstElementChild !== view.element) { fill(byId("view"), view.element); view.show(); }
  byId("view").setAttribute("aria-labelledby", `tab-${state.view}`);
}

function shortcuts(event) {
  const typing = event.target.matches("input:not([type=range]), select, textarea");
  if (isReport || typing) return;
  const key = event.key.toLowerCase();
  if ((event.ctrlKey || event.metaKey) && key === "z" && !event.shiftKey) undo();
  else if ((event.ctrlKey || event.metaKey) && (key === "y" || (key === "z" && event.shiftKey))) redo();
  else if (!event.ctrlKey && !event.metaKey && !event.altKey && /^[1-6]$/.test(key) && [...views.keys()][Number(key) - 1]) {
    state.view = [...views.keys()][Number(key) - 1];
    changed("view");
  } else return;
  event.preventDefault();
}

begin();
