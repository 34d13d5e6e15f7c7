// Rows that are added, removed and moved: blocks, conditions, tools, sub-agents.
//
// A list says in data-list what the names of its controls begin with. What a new row holds stands in
// a <template>, whose names begin with NEW. The server reads rows in the order of the page, so a row
// keeps its names wherever it is moved. A row that was removed can be had back until the page is left.

import { make } from "./elements.js";

const NEW = /^NEW\b|(?<=^(?:in|error|suggested)-)NEW\b/;
const { gettext, interpolate } = window;
// What is said about a row that is removed: that it is gone, how to have it back, and that it is back.
const SAID = {
  block: [gettext("Block removed."), gettext("Undo: put the block back"), gettext("The block is back.")],
  condition: [gettext("Condition removed."), gettext("Undo: put the condition back"), gettext("The condition is back.")],
  group: [gettext("Group removed."), gettext("Undo: put the group back"), gettext("The group is back.")],
  tool: [gettext("Tool removed."), gettext("Undo: put the tool back"), gettext("The tool is back.")],
  "sub-agent": [gettext("Sub-agent removed."), gettext("Undo: put the sub-agent back"), gettext("The sub-agent is back.")],
  variant: [gettext("Variant removed."), gettext("Undo: put the variant back"), gettext("The variant is back.")],
};
let made = 0;

const listOf = (place) => place.closest("[data-rows]").querySelector("[data-list]");
export const changed = (place) => place.dispatchEvent(new Event("change", { bubbles: true }));

function named(fragment, name) {
  for (const element of fragment.querySelectorAll("*")) {
    for (const attribute of element.attributes) {
      if (NEW.test(attribute.value)) attribute.value = attribute.value.replace(NEW, name);
    }
  }
  return fragment;
}

export function add(list, sort) {
  made += 1;
  const template = document.getElementById(`new-${sort}`);
  const row = named(template.content.cloneNode(true), `${list.dataset.list}.n${made}`).querySelector("[data-row]");
  list.append(row);
  return row;
}

export const rowsOf = (list) => [...list.children].filter((one) => one.matches("[data-row]"));
const removed = new WeakMap();

function announce(text) {
  document.getElementById("announced").textContent = text;
}

function remove(row, button) {
  const what = button.dataset.what;
  const [sentence, toUndo] = SAID[what];
  const undo = make("button", { type: "button", className: "button button-small", textContent: gettext("Undo") });
  undo.dataset.undo = what;
  undo.setAttribute("aria-label", toUndo);
  const place = make("li", { className: "removed" }, make("span", { textContent: sentence }), " ", undo);
  removed.set(place, row);
  row.replaceWith(place);
  undo.focus();
  announce(sentence);
  changed(place);
}

function putBack(button) {
  const place = button.closest(".removed");
  const row = removed.get(place);
  place.replaceWith(row);
  row.querySelector("[data-remove]").focus();
  announce(SAID[button.dataset.undo][2]);
  // It is as it was, so nothing has to suit anything anew.
  row.dispatchEvent(new Event("input", { bubbles: true }));
}

function move(row, by, button) {
  const rows = rowsOf(row.parentElement);
  const other = rows[rows.indexOf(row) + by];
  if (!other) return;
  // The neighbour moves and not the row, so that the button under the pointer keeps the focus.
  if (by < 0) row.after(other);
  else row.before(other);
  button.focus();
  announcePlace(row);
  changed(row);
}

export function announcePlace(row) {
  const rows = rowsOf(row.parentElement);
  const place = { place: rows.indexOf(row) + 1, count: rows.length };
  announce(interpolate(gettext("Moved to place %(place)s of %(count)s."), place, true));
}

// The first condition of something that was always shown.
function beginRules(button) {
  const group = button.closest("[data-rows]");
  const operator = group.querySelector("[data-operator]");
  operator.value = "AND";
  changed(operator);
  group.querySelector("[data-list] input:not([type=hidden])").focus();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-add], [data-remove], [data-move], [data-undo], [data-begin-rules]");
  if (!button) return;
  if ("beginRules" in button.dataset) {
    beginRules(button);
    return;
  }
  const row = button.closest("[data-row]");
  if (button.dataset.add) {
    const added = add(listOf(button), button.dataset.add);
    if (button.dataset.add.startsWith("group")) add(added.querySelector("[data-list]"), "condition");
    added.querySelector("textarea, input:not([type=hidden]), select").focus();
    changed(added);
  } else if (button.dataset.move) {
    move(row, Number(button.dataset.move), button);
  } else if (button.dataset.undo) {
    putBack(button);
  } else {
    remove(row, button);
  }
});
