// Rows that are added, removed and moved: blocks, conditions, tools, sub-agents.
//
// A list says in data-list what the names of its controls begin with. What a new row holds stands in
// a <template>, whose names begin with NEW. The server reads rows in the order of the page, so a row
// keeps its names wherever it is moved.

const NEW = /^NEW\b|(?<=^(?:in|fault|suggested)-)NEW\b/;
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

function remove(row) {
  const list = row.parentElement;
  const near = row.nextElementSibling ?? row.previousElementSibling;
  const next = near?.querySelector("[data-remove]") ?? list.closest("[data-rows]").querySelector("[data-add]");
  row.remove();
  next.focus();
  changed(list);
}

function move(row, by, button) {
  const other = by < 0 ? row.previousElementSibling : row.nextElementSibling;
  if (!other) return;
  // The neighbour moves and not the row, so that the button under the pointer keeps the focus.
  if (by < 0) row.after(other);
  else row.before(other);
  button.focus();
  changed(row);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-add], [data-remove], [data-move]");
  if (!button) return;
  const row = button.closest("[data-row]");
  if (button.dataset.add) {
    const added = add(listOf(button), button.dataset.add);
    if (button.dataset.add.startsWith("group")) add(added.querySelector("[data-list]"), "condition");
    added.querySelector("textarea, input:not([type=hidden]), select").focus();
    changed(added);
  } else if (button.dataset.move) {
    move(row, Number(button.dataset.move), button);
  } else {
    remove(row);
  }
});
