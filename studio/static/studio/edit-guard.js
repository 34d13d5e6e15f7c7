// Nobody loses what was typed: a question before leaving, and a word on what is not saved.

import { make, unfold } from "./elements.js";
import { typedInto } from "./unsaved.js";

const { gettext } = window;
const form = document.getElementById("edit-form");
const save = document.getElementById("save-draft");
const SCROLLED = `scrolled:${location.pathname}`;

const typed = () => JSON.stringify(typedInto(form));

function setUp() {
  const state = document.querySelector("[data-saved-state]");
  let atFirst = form.hasAttribute("data-typed") ? null : typed();
  const isChanged = () => typed() !== atFirst;
  let leaving = false;
  let said = "";

  const tell = () => {
    const changed = isChanged();
    state.textContent = changed ? gettext("Not saved yet.") : said;
    // What stands in the way of the saved version may not stand in the way of what is typed.
    for (const button of document.querySelectorAll("[data-until-typed]")) button.disabled = !changed;
  };
  for (const kind of ["input", "change", "studio:renewed"]) document.addEventListener(kind, tell);

  addEventListener("beforeunload", (event) => {
    if (leaving || !isChanged()) return;
    event.preventDefault();
  });
  form.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return; // it is saved in place
    leaving = true;
    noteScrolled();
  });
  document.addEventListener("studio:saved", ({ detail }) => {
    atFirst = JSON.stringify(detail.sent);
    said = gettext("Saved.");
    tell();
  });
  // Signing out has asked already.
  document.addEventListener("studio:signs-out", () => { leaving = true; });
  // The form was not sent after all, or somebody comes back with the browser's button: the guard is on duty again.
  document.addEventListener("studio:stays", () => {
    leaving = false;
    tell();
  });
  addEventListener("pageshow", () => { leaving = false; });
  // Enter in one of many fields is a slip, and would make a version.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("#edit-form input, #about input")) event.preventDefault();
  });
}

function noteScrolled() {
  try {
    sessionStorage.setItem(SCROLLED, String(scrollY));
  } catch { /* then the page is shown from its top */ }
}

function takeScrolled() {
  try {
    const scrolled = sessionStorage.getItem(SCROLLED);
    sessionStorage.removeItem(SCROLLED);
    return scrolled;
  } catch {
    return null;
  }
}

function leadingTo(problem) {
  const button = make("button", { type: "button", className: "button button-small", textContent: gettext("Go to the first problem") });
  button.addEventListener("click", () => problem.focus());
  return button;
}

function lookAtWhatMatters() {
  const scrolled = takeScrolled();
  const first = document.querySelector("[data-first-look]");
  if (first) {
    form.querySelectorAll(".error, [aria-invalid=true]").forEach(unfold);
    const problem = [...form.elements].find((control) => control.getAttribute("aria-invalid") === "true");
    if (problem) first.append(leadingTo(problem));
    first.focus();
  } else if (scrolled !== null) scrollTo(0, Number(scrolled));
}

if (save) setUp();
lookAtWhatMatters();
