// A chat with several versions at once: each has its own history and its own stream.

import { onExamples, parsed, recallExample, renewFields } from "./context-form.js";
import { make } from "./elements.js";
import { costOf, notesOf, run, submitChoices } from "./runs.js";

const { gettext } = window;
const form = document.getElementById("try-form");
const contextForm = document.getElementById("context-form");
const message = document.getElementById("try-message");
const stop = document.getElementById("try-stop");
const columns = [...document.querySelectorAll("[data-stream]")].map((element) => ({
  address: element.dataset.stream,
  expected: { agent: element.dataset.agent, version: element.dataset.version },
  turns: element.querySelector(".turns"),
  history: [],
}));
let running = null;

function turn(column, who, text) {
  const element = make("div", { className: `turn turn-${who}`, textContent: text });
  column.turns.querySelector(".empty")?.remove();
  column.turns.append(element);
  element.scrollIntoView({ block: "nearest" });
  return element;
}

function tell(column, event, shown, began) {
  const { payload } = event;
  if (event.type === "text-delta") shown.textContent += payload.text;
  else if (event.type === "error") turn(column, "error", payload.error);
  for (const note of notesOf(event, column.expected)) turn(column, "note", note);
  if (event.type === "finish") turn(column, "note", costOf(payload.usage, performance.now() - began));
}

async function answer(column, requestContext, signal) {
  const shown = turn(column, "assistant", "");
  const { history } = column;
  const began = performance.now();
  const token = form.elements.csrfmiddlewaretoken.value;
  shown.setAttribute("aria-busy", "true");
  try {
    for await (const event of run({ address: column.address, messages: history, requestContext, token, signal })) {
      if (column.history !== history) return;
      tell(column, event, shown, began);
    }
  } catch (error) {
    // After starting over, nothing of the stopped run is shown.
    if (column.history !== history) return;
    turn(column, "error", signal.aborted ? gettext("Stopped.") : error.message);
  }
  shown.removeAttribute("aria-busy");
  if (!shown.textContent) {
    shown.remove();
    return;
  }
  offerActions(column, shown.textContent);
  history.push({ role: "assistant", content: shown.textContent });
}

// What applications do with an answer: each has a form, which gets the messages before it, and the answer.
function offerActions(column, output) {
  const actions = document.getElementById("answer-actions").content.cloneNode(true);
  const [first, ...others] = column.history;
  for (const { elements } of actions.querySelectorAll("form")) {
    elements.tried.value = JSON.stringify(others.length ? { messages: column.history } : first.content);
    elements.output.value = output;
  }
  if (actions.querySelector("form")) column.turns.append(actions);
}

async function ask(action) {
  const typed = new FormData(contextForm);
  typed.set("do", action);
  return fetch(contextForm.action, { method: "POST", body: typed });
}

async function renewed(action) {
  // Enter in a field of the context is no wish to keep it.
  if (action !== "show") renewFields(contextForm, parsed(await (await ask(action)).text()));
}

// The server reads the fields; what is wrong with them is said beside them.
async function contextFilledIn() {
  const read = await ask("read");
  if (read.ok && !read.redirected) return (await read.json()).context;
  if (read.status !== 400) throw new Error(gettext("You are signed out. Sign in again, for example in another tab, and try again."));
  renewFields(contextForm, parsed(await read.text()));
  contextForm.querySelector("[aria-invalid=true]")?.focus();
  return null;
}

async function send() {
  const text = message.value.trim();
  if (!text || running) return;
  const mine = new AbortController();
  running = mine;
  stop.disabled = false;
  try {
    const requestContext = await contextFilledIn();
    if (requestContext === null || mine.signal.aborted) return;
    message.value = "";
    for (const column of columns) {
      turn(column, "user", text);
      column.history.push({ role: "user", content: text });
    }
    await Promise.all(columns.map((column) => answer(column, requestContext, mine.signal)));
    message.focus();
  } catch (error) {
    for (const column of columns) turn(column, "error", error.message);
  } finally {
    if (running === mine) {
      running = null;
      stop.disabled = true;
    }
  }
}

function setUp() {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  message.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  stop.addEventListener("click", () => running?.abort());
  document.getElementById("try-again").addEventListener("click", () => {
    running?.abort();
    for (const column of columns) {
      column.history = [];
      column.turns.replaceChildren(make("p", { className: "empty", textContent: gettext("No messages yet.") }));
    }
    message.focus();
  });
  // On a phone the keyboard would cover what the page is about.
  if (matchMedia("(min-width: 48rem)").matches) message.focus({ preventScroll: true });
  onExamples(contextForm, renewed);
  if (recallExample(contextForm)) renewed("load");
}

submitChoices();
if (form) setUp();
