"use strict";
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const part = (id) => document.getElementById(id);
const lines = () => part("source").value.split("\n");

async function ask(address, question) {
  const headers = { "content-type": "application/json" };
  if (token) headers["x-luthier-token"] = token;
  const options = question ? { method: "POST", headers, body: JSON.stringify(question) } : { headers };
  const reply = await fetch(address, options);
  const found = await reply.json();
  if (!reply.ok) throw new Error(found.error);
  return found;
}

async function attempt(work) {
  try {
    await work();
    const load = await ask("load");
    part("load").textContent =
      `${load.answered} requests answered, ${load.refused} refused, ${load.waiting} waiting; half within ${load.median} s`;
  } catch (error) {
    part("target").textContent = error.message;
  }
}

part("form").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    part("explanation").textContent = "";
    const found = await ask("translate", { lines: lines() });
    part("target").textContent = found.translations.map((one) => one.translation).join("\n");
  });
});

part("why").addEventListener("click", () =>
  attempt(async () => {
    const found = await ask("explain", { text: lines()[0] });
    const why = found.explanation;
    part("target").textContent = found.translation;
    part("explanation").textContent = why ? why.text : "";
  }));
