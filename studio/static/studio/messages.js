// Messages float where one looks. What went well goes away by itself, unless somebody is at it; the rest stays
// until it is put away. Other modules say something with `say(text, level)`.

const { gettext } = window;
const LASTS = 9000;
const PASSING = ["notice-success", "notice-info", "notice-debug"];

// A level is one of Django's: success, info, warning, error.
export function say(text, level = "info") {
  const message = document.createElement("div");
  message.className = `notice notice-${level}`;
  const words = document.createElement("p");
  words.textContent = text;
  message.append(words);
  show(message);
}

function region() {
  const found = document.querySelector(".messages");
  if (found) return found;
  const made = document.createElement("div");
  made.className = "messages";
  made.setAttribute("role", "status");
  document.body.append(made);
  return made;
}

function show(message) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "icon-button dismiss";
  button.setAttribute("aria-label", gettext("Dismiss"));
  const icon = document.createElement("span");
  icon.className = "material-symbols-outlined";
  icon.setAttribute("aria-hidden", "true");
  icon.textContent = "close";
  button.append(icon);
  button.addEventListener("click", () => {
    message.remove();
    document.getElementById("content")?.focus({ preventScroll: true });
  });
  message.append(button);
  region().append(message);
  if (PASSING.some((name) => message.classList.contains(name))) pass(message);
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
