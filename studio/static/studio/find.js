// Shows the text that a search result led to: `?find=` says how it stands in the prompt.
//
// In a field it is selected. An editor in the place of a textarea hears `studio:find` with where it begins and
// ends, and shows it instead. Elsewhere on the page it is highlighted.

import { patternOf } from "./text.js";

const sought = new URLSearchParams(location.search).get("find").trim();
const pattern = patternOf(sought, "i");
const main = document.getElementById("content") ?? document.body;

const isShown = (element) => element.checkVisibility?.() ?? element.offsetParent !== null;

function place(text) {
  const found = sought ? pattern.exec(text) : null;
  return found && { from: found.index, to: found.index + found[0].length };
}

// A field scrolls to what is selected only while somebody types, so its text is measured in a copy of it.
function scrollTo(field, { from }) {
  const copy = field.cloneNode();
  for (const name of ["id", "name"]) copy.removeAttribute(name);
  copy.value = field.value.slice(0, from);
  copy.rows = 1;
  copy.className = `${field.className} find-measure`;
  field.after(copy);
  field.scrollTop = copy.scrollHeight - field.clientHeight / 2;
  copy.remove();
}

function showInField() {
  for (const field of main.querySelectorAll("textarea")) {
    const found = place(field.value);
    if (!found) continue;
    // An editor stands in the place of a textarea that is hidden itself.
    if (!isShown(field) && !field.dataset.prompt && !isShown(field.parentElement)) continue;
    const event = new CustomEvent("studio:find", { bubbles: true, cancelable: true, detail: found });
    if (!field.dispatchEvent(event)) return true;
    if (!isShown(field)) continue;
    field.focus({ preventScroll: true });
    field.setSelectionRange(found.from, found.to);
    scrollTo(field, found);
    field.scrollIntoView({ block: "center" });
    return true;
  }
  return false;
}

function rangeOf(element) {
  const found = place(element.textContent);
  if (!found) return null;
  const range = document.createRange();
  const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let at = 0;
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const end = at + node.length;
    if (found.from >= at && found.from < end) range.setStart(node, found.from - at);
    if (found.to > at && found.to <= end) {
      range.setEnd(node, found.to - at);
      return range;
    }
    at = end;
  }
  return null;
}

function showInText() {
  for (const element of main.querySelectorAll(".reading-text, .lead, .text, pre")) {
    const range = isShown(element) && rangeOf(element);
    if (!range) continue;
    if (CSS.highlights) CSS.highlights.set("find", new Highlight(range));
    else getSelection().addRange(range);
    range.startContainer.parentElement.scrollIntoView({ block: "center" });
    const { top, height } = range.getBoundingClientRect();
    if (top < 0 || top + height > innerHeight) scrollBy({ top: top - innerHeight / 2 });
    return true;
  }
  return false;
}

// The editors of the page are made by scripts that may come after this one.
addEventListener("load", () => showInField() || showInText());
