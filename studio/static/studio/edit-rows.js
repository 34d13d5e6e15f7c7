// Rows that are added, removed and moved: blocks, conditions, tools, sub-agents.
//
// A list says in data-list what the names of its controls begin with. What a new row holds stands in
// a <template>, whose names begin with NEW. The server reads rows in the order of the page, so a row
// keeps its names wherever it is moved. A row that was removed can be had back until the page is left.

const NEW = /^NEW\b|(?<=^(?:in|error|suggested)-)NEW\b/;
let made = 0;

const listOf = (place) => place.closest("[data-rows]").querySelector("[data-list]");
const changed = (place) => place.dispatchEvent(new Event("change", { bubbles: true }));

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
  const place = document.createElement("li");
  place.className = "removed";
  const sentence = `${what[0].toUpperCase()}${what.slice(1)} removed.`;
  const undo = Object.assign(document.createElement("button"), { type: "button", className: "button button-small", textContent: "Undo" });
  undo.dataset.undo = what;
  undo.setAttribute("aria-label", `Undo: put the ${what} back`);
  place.append(Object.assign(document.createElement("span"), { textContent: sentence }), " ", undo);
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
  announce(`The ${button.dataset.undo} is back.`);
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
  changed(row);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-add], [data-remove], [data-move], [data-undo]");
  if (!button) return;
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
