// Puts an editor in the place of every textarea with `data-prompt`, also of those that come later.
//
// `data-placeholders` says what becomes of placeholders in the text: "filled", or "literal" where it is used as it
// is. `data-names` of the form is the address of the names to suggest. An editor is made when its textarea comes
// into view: a page may have hundreds.

import "./styles.js";

import { edit } from "./editor.js";
import { forget, leave } from "./history.js";

export { read } from "./grammar.js";

const NEAR = "300px";
const editors = new Map();

// What is edited here, as the copies of unsaved text call it.
const about = document.querySelector("form[data-unsaved]")?.dataset.unsaved ?? location.pathname;

function make(textarea) {
  seen.unobserve(textarea);
  if (!editors.has(textarea)) editors.set(textarea, edit(textarea, about));
}

const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) make(target);
}, { rootMargin: NEAR });

// May be called again for the same place, which does nothing then.
export function enhance(root) {
  const found = root.matches?.("textarea[data-prompt]") ? [root] : root.querySelectorAll("textarea[data-prompt]");
  for (const textarea of found) {
    if (editors.has(textarea)) continue;
    if (document.activeElement === textarea) make(textarea);
    else seen.observe(textarea);
  }
}

function leaveAll() {
  const here = [...editors].filter(([textarea]) => textarea.isConnected);
  leave(about, here.map(([textarea, view]) => [view, textarea.name]));
}

let isSignedOut = false;
addEventListener("pagehide", () => { if (!isSignedOut) leaveAll(); });
document.addEventListener("studio:signs-out", () => {
  isSignedOut = true;
  forget();
});
new MutationObserver((changes) => {
  for (const { addedNodes, target } of changes) {
    if (target.closest?.(".cm-editor")) continue;
    for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) enhance(node);
  }
}).observe(document.body, { childList: true, subtree: true });
enhance(document.body);
