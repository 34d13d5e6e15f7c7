// The search field: "/" leads there from anywhere, and results are suggested while somebody types. Enter without
// choosing one of them sends the form, as it does without this script.

import { isSign, isTaken } from "./shortcuts.js";

const { ngettext, interpolate } = window;
const form = document.querySelector("form[data-suggestions]");
const input = form.querySelector("input");
const list = form.querySelector("[role=listbox]");
const status = form.querySelector("[role=status]");
const WAIT = 150;
let waiting;
let request;
let chosen = -1;

input.setAttribute("role", "combobox");
input.setAttribute("aria-autocomplete", "list");
input.setAttribute("aria-controls", list.id);

function choose(number) {
  const options = [...list.children];
  options[chosen]?.removeAttribute("aria-selected");
  chosen = number;
  const option = options[chosen];
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) input.setAttribute("aria-activedescendant", option.id);
  else input.removeAttribute("aria-activedescendant");
}

function show(isShown) {
  list.hidden = !isShown;
  input.setAttribute("aria-expanded", String(isShown));
  choose(-1);
}

function close() {
  clearTimeout(waiting);
  request?.abort();
  show(false);
}

async function suggest() {
  const text = input.value.trim();
  if (!text) return close();
  request?.abort();
  const own = request = new AbortController();
  try {
    const answer = await fetch(`${form.dataset.suggestions}?${new URLSearchParams({ q: text })}`, { signal: own.signal });
    if (!answer.ok || answer.redirected) return close();
    // The server writes them, and has escaped what is in a prompt.
    const found = new DOMParser().parseFromString(await answer.text(), "text/html").querySelectorAll("[role=option]");
    if (own.signal.aborted || document.activeElement !== input) return undefined;
    list.replaceChildren(...found);
    show(found.length > 0);
    status.textContent = interpolate(ngettext("%s suggestion", "%s suggestions", found.length), [found.length]);
  } catch (error) {
    if (error.name !== "AbortError") close();
  }
  return undefined;
}

input.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(suggest, WAIT);
});

const MOVES = { ArrowDown: 1, ArrowUp: -1 };

input.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  const { key } = event;
  if (key in MOVES && !event.altKey) {
    event.preventDefault();
    if (list.hidden) suggest();
    else {
      // One place more than there are options: the field itself.
      const places = list.children.length + 1;
      choose(((chosen + 1 + MOVES[key] + places) % places) - 1);
    }
  } else if (key === "Enter" && chosen >= 0) {
    event.preventDefault();
    location.assign(list.children[chosen].dataset.address);
  } else if (key === "Escape" && !list.hidden) {
    event.preventDefault();
    event.stopPropagation();
    close();
  }
});

form.addEventListener("submit", close);
input.addEventListener("blur", close);
// Before the field loses the focus, with which the list would go.
list.addEventListener("mousedown", (event) => event.preventDefault());
list.addEventListener("click", (event) => {
  const option = event.target.closest("[role=option]");
  if (option) location.assign(option.dataset.address);
});

document.addEventListener("keydown", (event) => {
  if (!isSign(event, "/") || isTaken(event)) return;
  event.preventDefault();
  input.focus();
  input.select();
});

show(false);
