// Files for the reader: pictures as PNG and SVG, tables as CSV, weights as lines.

import { button, element } from "./elements.js";

export function saveFile(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Buttons that save a picture, and its numbers where `rows` gives them. */
export function pictureButtons(name, picture, rows = null) {
  const buttons = [
    button("PNG", () => picture.canvas.toBlob((blob) => saveFile(`${name}.png`, blob)), { title: "Save the picture as PNG" }),
    button("SVG", () => saveFile(`${name}.svg`, picture.svg(), "image/svg+xml"), { title: "Save the picture as SVG" }),
  ];
  if (rows) buttons.push(csvButton(name, rows));
  return element("span", { class: "export" }, buttons);
}

/** A button that saves a table; `rows()` returns its rows, heads first. */
export function csvButton(name, rows) {
  const save = async () => saveFile(`${name}.csv`, csvText(await rows()), "text/csv");
  return button("CSV", save, { title: "Save the table as CSV" });
}

export function csvText(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    // a table program takes a text that begins so for a formula
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
