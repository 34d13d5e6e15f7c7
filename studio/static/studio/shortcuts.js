// The keys of the studio: one table, which "?" and the person's menu show; and going through what a page lists.

import { make } from "./elements.js";

const { gettext } = window;
const MOD = /Mac|iP(ad|hone)/.test(navigator.platform) ? "⌘" : gettext("Ctrl");

// Every key that does something is listed here, and nowhere else.
const TABLE = [
  [gettext("Everywhere"), [
    [["/"], gettext("Search everything")],
    [["?"], gettext("Show these keys")],
    [[gettext("Esc")], gettext("Close a menu, the suggestions, or what covers the page")],
  ]],
  [gettext("In lists, search results, reviews and comparisons"), [
    [["j"], gettext("Go to the next one")],
    [["k"], gettext("Go to the previous one")],
    [["Enter"], gettext("Open it; comment on a difference, reply to a comment")],
  ]],
  [gettext("While editing"), [
    [[MOD, "S"], gettext("Save the draft")],
    [[MOD, "Enter"], gettext("Save and go to the publish page; publish from there")],
    [[MOD, "Z"], gettext("Undo, also after saving")],
    [[MOD, "F"], gettext("Find and replace in the text")],
    [[gettext("Ctrl"), gettext("Space")], gettext("Suggest names for a placeholder")],
    [["F8"], gettext("Go to the next problem in the text")],
    [["Alt", "Enter"], gettext("Go from a marked place to what is said about it")],
    [["Tab"], gettext("Leave the text")],
  ]],
  [gettext("While trying"), [
    [["Enter"], gettext("Send the message")],
    [[gettext("Shift"), "Enter"], gettext("Begin a new line")],
  ]],
];

const TEXTS = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], .cm-editor, dialog";

// People who speak to their computer, or press keys by accident, switch off the keys that are a single letter or sign.
const isSilent = document.documentElement.hasAttribute("data-no-single-keys");
const SINGLE = new Set(["/", "?", "j", "k"]);
const hasKeys = ([keys]) => !isSilent || !SINGLE.has(keys[0]);

// Whether a key belongs to what has the focus, or to the browser.
export const isTaken = (event) => event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || Boolean(event.target.closest?.(TEXTS));

// Whether a key is that of a Latin letter. Where the keyboard writes other letters, such as Cyrillic, Greek, Hebrew or
// Arabic ones, its place on a Latin keyboard decides; where it writes Latin letters, the letter does, as on Dvorak.
export function isLetter({ key, code, ctrlKey, metaKey }, letter) {
  if (isSilent && !ctrlKey && !metaKey) return false;
  const isOther = /^\P{ASCII}$/u.test(key);
  return isOther ? code === `Key${letter.toUpperCase()}` : key.toLowerCase() === letter;
}

// The sign of a key that has another one on a keyboard of other letters: by its place, too.
const SIGNS = { "/": ["Slash", false], "?": ["Slash", true] };
export function isSign({ key, code, shiftKey }, sign) {
  if (isSilent) return false;
  const [place, isShifted] = SIGNS[sign];
  return key === sign || (/^\P{ASCII}$/u.test(key) && /\p{L}|\p{P}/u.test(key) && code === place && shiftKey === isShifted);
}

function entry([keys, does]) {
  const pressed = keys.flatMap((key) => [" + ", make("kbd", { textContent: key })]).slice(1);
  return make("div", {}, make("dt", {}, ...pressed), make("dd", { textContent: does }));
}

let dialog = null;

function makeDialog() {
  const close = make("button", { type: "button", className: "icon-button", textContent: "✕" });
  close.setAttribute("aria-label", gettext("Close"));
  close.addEventListener("click", () => dialog.close());
  const title = make("h2", { id: "shortcuts-title", textContent: gettext("Keyboard shortcuts") });
  const parts = TABLE.map(([name, entries]) => make("section", {}, make("h3", { textContent: name }), make("dl", {}, ...entries.filter(hasKeys).map(entry))));
  const made = make("dialog", { className: "shortcuts" }, make("div", { className: "shortcuts-head" }, title, close), make("div", { className: "shortcuts-parts" }, ...parts));
  made.setAttribute("aria-labelledby", title.id);
  // A click beside it is on the dialog itself.
  made.addEventListener("click", (event) => { if (event.target === made) made.close(); });
  document.body.append(made);
  return made;
}

function showTable() {
  dialog ??= makeDialog();
  if (!dialog.open) dialog.showModal();
}

// What one goes through: the names in lists, and what a page marks with `data-step`.
const STEPS = ":is(.rows-title, .entry-text, .draft, .version-name > .row) > a:not(.link:not(.strong)), .draft-name, .found-link, [data-step]";

const steps = () => [...document.querySelectorAll(`#content :is(${STEPS})`)].filter((one) => one.checkVisibility());

// The one that has the focus, or else where one looks: what is above the window is behind.
function placeIn(all) {
  const current = all.findLastIndex((one) => one.contains(document.activeElement));
  if (current >= 0) return { next: current + 1, previous: current - 1 };
  const seen = all.findIndex((one) => one.getBoundingClientRect().top >= 0);
  const next = seen < 0 ? all.length : seen;
  return { next, previous: next - 1 };
}

function go(direction) {
  const all = steps();
  const one = all[placeIn(all)[direction]];
  if (!one) return;
  if (one.tabIndex < 0) one.tabIndex = -1;
  one.focus({ preventScroll: true });
  one.scrollIntoView({ block: "nearest" });
}

// Opens the form that answers to a difference or a comment: its `data-step-form`, not that of one inside of it.
function answer(one) {
  const form = [...one.querySelectorAll("details[data-step-form]")].find((details) => details.closest("[data-step]") === one);
  if (!form) return false;
  form.open = true;
  form.querySelector("textarea").focus();
  return true;
}

const ACTS = [
  [(event) => isSign(event, "?"), showTable],
  [(event) => isLetter(event, "j"), () => go("next")],
  [(event) => isLetter(event, "k"), () => go("previous")],
];

document.addEventListener("keydown", (event) => {
  if (isTaken(event) || event.isComposing) return;
  const { key, target } = event;
  const act = ACTS.find(([isMeant]) => isMeant(event));
  if (act) {
    event.preventDefault();
    act[1]();
  } else if (key === "Enter" && target.matches("[data-step]") && answer(target)) event.preventDefault();
});

// The button that publishes, unless the key is pressed in another form, such as that of a comment.
document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.isComposing) return;
  const button = document.querySelector("button[aria-keyshortcuts]");
  const form = target.closest("form");
  if (!button || (form && form !== button.form) || target.closest("dialog")) return;
  event.preventDefault();
  event.stopPropagation(); // before it makes a new line
  if (!event.repeat) button.click();
}, { capture: true });

for (const button of document.querySelectorAll("[data-shortcuts]")) {
  button.hidden = false;
  button.addEventListener("click", showTable);
}
