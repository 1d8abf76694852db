// Elements of the page. Texts of strangers go in by textContent only, so that none of them is ever markup.

/** Make an element; `attributes` may hold `on: {event: listener}`, `class`, and any attribute. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else if (name === "class") {
      made.className = value;
    } else if (value === true) {
      made.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      made.setAttribute(name, String(value));
    }
  }
  put(made, ...children);
  return made;
}

/** Append elements and texts. */
export function put(parent, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return parent;
}

/** Replace all that is in an element. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  return put(parent, ...children);
}

/** Whether the page comes from a server: a file of the disk, or a frame of a notebook, keeps nothing and has no address. */
export const isServed = () => location.host !== "";

export const byId = (id) => document.getElementById(id);

export function button(label, press, attributes = {}) {
  return element("button", { type: "button", ...attributes, on: { click: press } }, label);
}

/** A labelled choice; `options` are [value, text]. */
export function chooser(label, options, value, change, attributes = {}) {
  const select = element("select", { ...attributes, "aria-label": label, on: { change: () => change(select.value) } });
  for (const [key, text] of options) put(select, element("option", { value: key }, text));
  select.value = String(value);
  return select;
}

let speaking = 0;

/** Say something to screen readers once things have settled. */
export function announce(text) {
  clearTimeout(speaking);
  speaking = setTimeout(() => { byId("spoken").textContent = text; }, 700);
}

/** Show an error in one sentence; an empty one hides it. */
export function complain(text) {
  byId("notice").textContent = text;
  byId("notice").classList.toggle("shown", Boolean(text));
}
