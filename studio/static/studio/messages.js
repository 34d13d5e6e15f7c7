// Messages float where one looks. Those about successes go away, unless someone is at them or can undo it;
// the rest is dismissed. `say(text)`, or `put` nodes there.

import { make } from "./elements.js";

const { gettext } = window;
const LASTS = 9000;
const ICONS = { success: "check_circle", info: "info", debug: "info", warning: "warning", error: "error" };
const PASSING = ["success", "info", "debug"];

// A level is one of Django's: success, info, warning, error.
export function say(text, level = "info") {
  return put(level, [make("p", { textContent: text })]);
}

// Returns the message, for a caller who removes it later.
export function put(level, nodes) {
  const message = make("div", { className: `notice notice-${level}` }, ...nodes);
  show(message);
  return message;
}

function region() {
  const found = document.querySelector(".messages");
  if (found) return found;
  const made = make("div", { className: "messages" });
  made.setAttribute("role", "status");
  document.body.append(made);
  return made;
}

function show(message) {
  const level = Object.keys(ICONS).find((name) => message.classList.contains(`notice-${name}`)) ?? "info";
  const button = make("button", { type: "button", className: "icon-button dismiss" }, symbol("close"));
  button.setAttribute("aria-label", gettext("Dismiss"));
  button.addEventListener("click", () => {
    message.remove();
    document.getElementById("content")?.focus({ preventScroll: true });
  });
  message.tabIndex = -1;
  message.prepend(symbol(ICONS[level]));
  message.append(button);
  region().append(message);
  if (PASSING.includes(level) && !message.querySelector("[name=undo]")) pass(message);
}

function symbol(name) {
  const icon = make("span", { className: "material-symbols-outlined", textContent: name });
  icon.setAttribute("aria-hidden", "true");
  return icon;
}

function pass(message) {
  const isLookedAt = () => message.matches(":hover, :focus-within") || document.hidden;
  const turn = () => (isLookedAt() ? setTimeout(turn, LASTS) : message.remove());
  setTimeout(turn, LASTS);
}

// Those that came with the page are put in anew, because what was there from the start is not read out.
const came = [...document.querySelectorAll(".messages > .notice")];
came.forEach((message) => message.remove());
came.forEach(show);
const failed = came.find((message) => message.matches(".notice-error, .notice-warning"));
if (document.activeElement === document.body) failed?.focus();
