// What the fields do while one types: modes, conditions, JSON that is checked when it is left.

import { add } from "./edit-rows.js";

// A field that can be written in several ways shows the one that counts.

function modeParts(field, mode) {
  return field.querySelector(`[data-mode="${mode}"]`);
}

function carryOver(field, mode) {
  const text = modeParts(field, "text")?.querySelector("textarea");
  const list = modeParts(field, "blocks")?.querySelector("[data-list]");
  if (!text || !list) return;
  if (mode === "text" && !text.value) {
    const contents = [...list.querySelectorAll(":scope > [data-row] > textarea")].map((one) => one.value);
    text.value = contents.join("\n\n") || (text.dataset.beginsWith ?? "");
  }
  if (mode === "blocks" && !list.children.length) {
    add(list, "text").querySelector("textarea").value = text.value || (text.dataset.beginsWith ?? "");
  }
}

function showMode(field, mode) {
  for (const part of field.querySelectorAll("[data-mode]")) part.hidden = part.dataset.mode !== mode;
}

// A condition asks for a value only where its comparison needs one, and for the right sort of it.

const SORTS = { in: "list", not_in: "list", exists: "none", not_exists: "none" };
const EXAMPLES = { list: "gold, silver", number: "18", boolean: "true", json: '{"a": 1}', text: "gold" };
const NUMERIC = /^(greater|less)_than/;

function suitSort(row, comparison) {
  const sort = row.querySelector("[data-type]");
  const fitting = SORTS[comparison] ?? (NUMERIC.test(comparison) ? "number" : null);
  if (fitting) sort.value = fitting;
  else if (sort.value === "none" || sort.value === "list") sort.value = "text";
}

function showOperand(row) {
  const comparison = row.querySelector("[data-comparison]").value;
  const [sort, value] = row.querySelectorAll("[data-operand]");
  sort.hidden = SORTS[comparison] === "none";
  const chosen = sort.querySelector("select").value;
  value.hidden = sort.hidden || chosen === "none";
  value.querySelector("input").placeholder = EXAMPLES[chosen] ?? "";
}

function onCondition(target) {
  const row = target.closest("[data-row]");
  if (target.matches("[data-comparison]")) suitSort(row, target.value);
  showOperand(row);
}

function onGroup(target) {
  const group = target.closest("[data-rows]");
  const inside = group.querySelector("[data-when-ruled]");
  inside.hidden = !target.value;
  const list = inside.querySelector("[data-list]");
  if (target.value && !list.children.length) showOperand(add(list, "condition"));
}

// JSON is checked when it is left; what counts is the check of the server.

export function jsonFault(text) {
  if (!text.trim()) return "";
  try {
    JSON.parse(text);
    return "";
  } catch (fault) {
    return `This is not JSON yet: ${fault.message}`;
  }
}

function checkJson(box) {
  const fault = jsonFault(box.value);
  let note = box.nextElementSibling?.matches("[data-json-fault]") ? box.nextElementSibling : null;
  if (fault && !note) {
    note = document.createElement("p");
    note.className = "fault";
    note.dataset.jsonFault = "";
    note.id = `now-${box.id}`;
    box.after(note);
  }
  if (note) note.textContent = fault;
  if (note) note.hidden = !fault;
  box.toggleAttribute("aria-invalid", false);
  if (fault) {
    box.setAttribute("aria-invalid", "true");
    box.setAttribute("aria-describedby", note.id);
  }
}

document.addEventListener("change", (event) => {
  const { target } = event;
  if (target.matches("[data-modes] input[type=radio]")) {
    const field = target.closest("[data-modes]");
    carryOver(field, target.value);
    showMode(field, target.value);
  } else if (target.matches("[data-comparison], [data-type]")) onCondition(target);
  else if (target.matches("[data-operator]")) onGroup(target);
  else if (target.matches("li.condition")) for (const one of target.querySelectorAll("[data-comparison]")) onCondition(one);
});
document.addEventListener("focusout", (event) => {
  if (event.target.matches("[data-json]")) checkJson(event.target);
});
for (const row of document.querySelectorAll(".condition-parts")) showOperand(row.closest("[data-row]"));
for (const chosen of document.querySelectorAll("[data-modes] input[type=radio]:checked")) {
  showMode(chosen.closest("[data-modes]"), chosen.value);
}
