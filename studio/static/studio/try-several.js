// One message in several examples: a row for each, in which every version answers, a few runs at a time.

import { parsed } from "./context-form.js";
import { costOf, notesOf, run, submitChoices } from "./runs.js";

const { gettext, interpolate } = window;
const AT_ONCE = 3;
const form = document.getElementById("several-form");
const results = document.getElementById("several-results");
const state = document.getElementById("several-state");
const stop = document.getElementById("several-stop");
const columns = [...document.querySelectorAll("th[data-stream]")].map((head) => ({
  title: head.firstChild.textContent.trim(),
  side: head.dataset.side,
  address: head.dataset.stream,
  expected: { agent: head.dataset.agent, version: head.dataset.version },
}));
let running = null;

function make(tag, className, text = "") {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}

function addRow(chosen) {
  const row = document.createElement("tr");
  const head = Object.assign(make("th", "several-name", chosen.name), { scope: "row" });
  const verdict = make("span", "several-verdict");
  head.append(verdict);
  row.append(head);
  const cells = columns.map((column) => {
    const cell = document.createElement("td");
    cell.dataset.label = column.title;
    const [answer, notes] = [make("div", "answer"), make("div", "answer-notes")];
    answer.setAttribute("aria-busy", "true");
    answer.setAttribute("role", "group");
    answer.setAttribute("aria-label", `${column.title}, ${chosen.name}`);
    answer.tabIndex = 0;  // what is long scrolls
    notes.textContent = gettext("Waiting");
    cell.append(answer, notes);
    row.append(cell);
    return { column, answer, notes, text: null };
  });
  results.querySelector("tbody").append(row);
  return { ...chosen, verdict, cells };
}

async function contextOf(example, signal) {
  if (!example) return {};
  const answer = await fetch(`${form.dataset.context}?${new URLSearchParams({ example })}`, { signal });
  if (!answer.ok || answer.redirected) throw new Error(gettext("The example can no longer be read. Load the page again."));
  return (await answer.json()).context;
}

async function answerIn(row, cell, messages, signal) {
  const token = form.elements.csrfmiddlewaretoken.value;
  const notes = [];
  let [text, failed] = ["", ""];
  try {
    const requestContext = await (row.context ??= contextOf(row.example, signal));
    const began = performance.now();
    cell.notes.textContent = gettext("Answering");
    for await (const event of run({ address: cell.column.address, messages, requestContext, token, signal })) {
      if (event.type === "text-delta") cell.answer.textContent = text += event.payload.text;
      if (event.type === "error") failed = event.payload.error;
      notes.push(...notesOf(event, cell.column.expected));
      if (event.type === "finish") notes.push(costOf(event.payload.usage, performance.now() - began));
    }
  } catch (error) {
    failed = signal.aborted ? gettext("Stopped.") : error.message;
  }
  cell.answer.removeAttribute("aria-busy");
  cell.notes.replaceChildren(...notes.map((note) => make("p", "", note)));
  if (failed) cell.notes.prepend(make("p", "turn-error answer-error", failed));
  else cell.text = text;
}

// Marks in both answers what the other one does not say.
async function compare(row, signal) {
  const texts = Object.fromEntries(row.cells.map((cell) => [cell.column.side, cell.text]));
  if (row.cells.length < 2 || Object.values(texts).includes(null)) return;
  const isSame = texts.draft === texts.live;
  row.verdict.className = `several-verdict chip ${isSame ? "" : "chip-changed"}`;
  row.verdict.textContent = isSame ? gettext("The same") : gettext("Differs");
  if (isSame) return;
  const body = new FormData();
  body.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
  for (const [side, text] of Object.entries(texts)) body.set(side, text);
  const answer = await fetch(form.dataset.answers, { method: "POST", body, signal }).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  // The server has escaped both answers; this is its own markup.
  const marked = parsed(await answer.text());
  for (const cell of row.cells) {
    cell.answer.replaceChildren(...marked.querySelector(`[data-side=${cell.column.side}]`).childNodes);
  }
}

async function runAll(rows, messages, signal) {
  const waiting = rows.flatMap((row) => row.cells.map((cell) => ({ row, cell })));
  const total = waiting.length;
  let done = 0;
  const tell = () => {
    state.textContent = interpolate(gettext("%(done)s of %(total)s answers"), { done, total }, true);
  };
  async function worker() {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { row, cell } = next;
      await answerIn(row, cell, messages, signal);
      done += 1;
      tell();
      if (row.cells.every((one) => !one.answer.hasAttribute("aria-busy"))) await compare(row, signal);
    }
  }
  tell();
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function start() {
  const message = document.getElementById("several-message");
  const text = message.value.trim();
  const chosen = [...form.querySelectorAll("[name=example]:checked")].map((box) => ({
    example: box.value,
    name: box.closest("label").textContent.trim(),
  }));
  if (!text || !chosen.length) {
    state.textContent = text ? gettext("Choose at least one example.") : "";
    (text ? form.querySelector("[name=example]") : message).focus();
    return;
  }
  running?.abort();
  const mine = new AbortController();
  running = mine;
  stop.disabled = false;
  results.hidden = false;
  results.querySelector("tbody").replaceChildren();
  await runAll(chosen.map(addRow), [{ role: "user", content: text }], mine.signal);
  if (running === mine) stop.disabled = true;
}

submitChoices();
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  start();
});
form?.querySelector("textarea").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
stop?.addEventListener("click", () => running?.abort());
