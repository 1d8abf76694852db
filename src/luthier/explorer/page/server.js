// Questions to the server: of each view one is under way, and the newest wins. A report has recorded answers instead.

import { complain } from "./elements.js";

const TOKEN = "luthier-token";
const written = document.getElementById("recorded");
let recorded = null;
const flights = new Map();
const pageNumber = crypto.getRandomValues(new Uint32Array(1))[0];
let numbers = 0, sessionNumber = 0;

export const isReport = written !== null;

/** What a report has recorded: packed, and every longer text once. */
async function readRecorded() {
  const { texts, record } = JSON.parse(new TextDecoder().decode(await unpacked(written.textContent)));
  const restore = (value) => {
    if (typeof value === "string") return value.startsWith("\u0001") ? texts[parseInt(value.slice(1), 36)] : value;
    if (Array.isArray(value)) return value.map(restore);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, restore(item)]));
  };
  const answers = new Proxy(record.answers, { get: (all, key) => restore(all[key]) });
  return { ...record, session: restore(record.session), answers };
}

/** The bytes of compressed ones in letters. */
async function unpacked(letters) {
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** Take the token out of the address bar; keep it for this tab. */
export function takeToken() {
  const found = /(?:^#|&)token=([\w-]+)/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(TOKEN, found[1]);
    const rest = location.hash.replace(/^#/, "").split("&").filter((part) => !part.startsWith("token=")).join("&");
    history.replaceState(null, "", rest ? `#${rest}` : location.pathname);
  }
}

export const token = () => sessionStorage.getItem(TOKEN) || "";

/** What is open: the session itself, or that there are folders of runs, or that it is still being opened. */
export async function askSession() {
  if (isReport) {
    recorded = await readRecorded();
    return recorded.session;
  }
  return read(await fetch("/api/session", { headers: { "X-Luthier-Token": token() } }));
}

/** The runs of the address, by their numbers. */
export function openedRuns() {
  const found = /(?:^#|&)open=([\d.]+)/.exec(location.hash);
  return found ? found[1].split(".").map(Number) : [];
}

/** Open the session of runs; all that is asked from now on is asked of it. */
export async function openSession(runs) {
  sessionNumber = (await askOnce("open", { runs })).session;
  return askOnce("about", {});
}

/** Ask a question that no view waits for; an error is thrown. */
export async function askOnce(name, body) {
  const heads = { "Content-Type": "application/json", "X-Luthier-Token": token() };
  return read(await fetch(`/api/${name}`, { method: "POST", headers: heads, body: JSON.stringify({ ...body, session: sessionNumber }) }));
}

/**
 * Ask a question for a view. Returns null where a newer question of the view has come meanwhile.
 * A question that is under way is finished first, unless `abort` says that it is costly: then it is given up.
 */
export function ask(view, name, body, { abort = false } = {}) {
  if (isReport) return fromRecord(name, body);
  const flight = flights.get(view) || { busy: null, waiting: null };
  flights.set(view, flight);
  if (flight.waiting) flight.waiting.resolve(null);
  return new Promise((resolve) => {
    flight.waiting = { name, body, resolve };
    if (flight.busy && abort) flight.busy.abort();
    if (!flight.busy) take(flight);
    else if (abort) { flight.busy = null; take(flight); }
  });
}

const turns = new Map();

/** Ask for what is made in the background: again until it is there, or until the view asks for something else. */
export async function askWaiting(view, name, body) {
  const turn = (turns.get(view) || 0) + 1;
  turns.set(view, turn);
  for (;;) {
    const found = await ask(view, name, body);
    if (!found || turns.get(view) !== turn) return null;
    if (!found.waiting) return found;
    await new Promise((done) => setTimeout(done, document.hidden ? 3000 : 600));
    if (turns.get(view) !== turn) return null;
  }
}

async function take(flight) {
  const { name, body, resolve } = flight.waiting;
  const control = new AbortController();
  flight.waiting = null;
  flight.busy = control;
  numbers += 1;
  const number = numbers;
  let found = null;
  try {
    const reply = await fetch(`/api/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Luthier-Token": token() },
      body: JSON.stringify({ ...body, session: sessionNumber, page: pageNumber, number }),
      signal: control.signal,
    });
    found = await read(reply);
    if (found && found.number !== number) found = null;
    complain("");
  } catch (error) {
    if (error.name !== "AbortError") complain(error instanceof TypeError ? "The server does not answer. Has 'luthier explore' ended?" : error.message);
  }
  if (flight.busy === control) {
    flight.busy = null;
    if (flight.waiting) take(flight);
  }
  resolve(flight.waiting && flight.waiting.name === name && control.signal.aborted ? null : found);
}

async function read(reply) {
  if (reply.headers.get("Content-Type") === "application/octet-stream" && reply.ok) return unpackArrays(await reply.arrayBuffer());
  const found = await reply.json();
  if (!reply.ok) throw new Error(found.error);
  return found.superseded ? null : found;
}

/** Values, and arrays as views of the bytes. */
function unpackArrays(buffer, shuffled = false) {
  const size = new DataView(buffer).getUint32(0, true);
  const found = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  let at = 4 + size;
  for (const [name, kind, length] of found.arrays) {
    const type = { float64: Float64Array, float32: Float32Array, int32: Int32Array }[kind];
    found[name] = shuffled ? ordered(type, new Uint8Array(buffer, at, length * type.BYTES_PER_ELEMENT), length) : new type(buffer, at, length);
    at += Math.ceil(found[name].byteLength / 8) * 8;
  }
  return found;
}

/** Numbers whose first bytes all stand first, then their second ones, and so on. */
function ordered(type, bytes, length) {
  const size = type.BYTES_PER_ELEMENT, found = new Uint8Array(length * size);
  for (let i = 0; i < length; i++) for (let k = 0; k < size; k++) found[i * size + k] = bytes[k * length + i];
  return new type(found.buffer);
}

/** An answer of a report: plain, or compressed bytes in letters. */
async function unpackRecord(answer) {
  if (typeof answer !== "string") return answer;
  return unpackArrays(await unpacked(answer), true);
}

/** The name under which a report keeps the answer to a question. */
function recordKey(name, body) {
  const sorted = (value) => {
    if (Array.isArray(value)) return value.map(sorted);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
  };
  return `${name} ${JSON.stringify(sorted(body))}`;
}

function fromRecord(name, body) {
  const found = recorded.answers[recordKey(name, body)];
  return found === undefined ? Promise.resolve(null) : unpackRecord(found);
}

/** What a report holds an answer to: pairs of axes, say. */
export const reportHas = (name) => (recorded ? recorded.has[name] || [] : []);
