// Puts an editor in the place of every textarea with `data-prompt`, also of those that come later.
//
// `data-placeholders` says what becomes of placeholders in the text: "filled", or "literal" where it is used as it
// is. `data-names` of the form is the address of the names to suggest. An editor is made when its textarea comes
// into view: a page may have hundreds.

import "./styles.js";

import { EditorView } from "@codemirror/view";

import { edit } from "./editor.js";
import { forget, leave } from "./history.js";
import { tellMarks } from "./marks.js";

export { read } from "./grammar.js";

const NEAR = 1000; // pixels
const editors = new Map();
const waiting = new Set();

// What is edited here, as the copies of unsaved text call it.
const about = document.querySelector("form[data-unsaved]")?.dataset.unsaved ?? location.pathname;

function make(textarea) {
  waiting.delete(textarea);
  seen.unobserve(textarea);
  if (!editors.has(textarea)) editors.set(textarea, edit(textarea, about));
}

function isNear(textarea) {
  const { top, bottom, height } = textarea.getBoundingClientRect();
  return height > 0 && bottom > -NEAR && top < innerHeight + NEAR;
}

// What is scrolled to gets its editor from the observer. What appears gets it at once, so that nobody begins to type
// into the textarea.
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) make(target);
}, { rootMargin: `${NEAR}px` });

const makeNear = () => { for (const textarea of [...waiting].filter(isNear)) make(textarea); };

function note(root) {
  const found = root.matches("textarea[data-prompt]") ? [root] : root.querySelectorAll("textarea[data-prompt]");
  for (const textarea of found) {
    if (editors.has(textarea) || waiting.has(textarea)) continue;
    waiting.add(textarea);
    seen.observe(textarea);
  }
}

let isSaved = false;
document.addEventListener("submit", (event) => {
  isSaved = !event.defaultPrevented && event.target.matches("form[data-unsaved]");
});

function leaveAll() {
  const here = [...editors].filter(([textarea]) => textarea.isConnected);
  leave(about, here.map(([textarea, view]) => [view, textarea.name]), isSaved);
}

// Something else wants a place in the text to be seen: `find.js`.
document.addEventListener("studio:find", (event) => {
  const { target, detail: { from, to } } = event;
  if (!editors.has(target) && !waiting.has(target)) return;
  make(target);
  const view = editors.get(target);
  view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  view.dom.scrollIntoView({ block: "center" });
  view.focus();
  event.preventDefault();
});

document.addEventListener("studio:renewed", () => editors.forEach(tellMarks));

let isSignedOut = false;
addEventListener("pagehide", () => { if (!isSignedOut) leaveAll(); });
document.addEventListener("studio:signs-out", () => {
  isSignedOut = true;
  forget();
});
new MutationObserver((changes) => {
  const elsewhere = changes.filter(({ target }) => !target.closest(".cm-editor"));
  for (const { addedNodes } of elsewhere) {
    for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) note(node);
  }
  if (elsewhere.length) makeNear();
}).observe(document.body, { childList: true, subtree: true, attributeFilter: ["hidden", "open"] });
note(document.body);
makeNear();
// Before the style sheets are there, everything is elsewhere.
addEventListener("load", makeNear);
