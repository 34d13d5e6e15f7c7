// What the fields do while one types: modes, conditions, JSON that is checked when it is left.

import { add, rowsOf } from "./edit-rows.js";
import { make } from "./elements.js";

const { gettext, interpolate } = window;

// A field that can be written in several ways shows the one that counts.

const form = document.getElementById("edit-form");
let converting = null;

const partOf = (field, mode) => field.querySelector(`[data-mode="${mode}"]`);
const radioOf = (field, mode) => field.querySelector(`input[type=radio][value="${mode}"]`);
// Without what the editor of prompts has of its own, such as its search.
const controlsOf = (part) => [...(part?.querySelectorAll("[name]") ?? [])].filter((one) => one.form === form);
const holds = (part) => JSON.stringify(controlsOf(part).map((one) => one.value));
const isEmpty = (part) => controlsOf(part).every((one) => one.type === "hidden" || !one.value);

// The server writes what stands in one mode in another; nothing that was typed may be left behind.
async function written(field, before, mode) {
  const asked = new URLSearchParams({ field: field.dataset.modes, from: before, to: mode });
  const answer = await fetch(`${form.dataset.convert}?${asked}`, { method: "POST", body: new FormData(form) });
  if (answer.redirected) throw new Error(gettext("You are no longer signed in. Sign in in another tab, and choose again."));
  const isSentence = answer.headers.get("Content-Type")?.startsWith("text/plain");
  if (answer.status === 400 && isSentence) throw new Error(await answer.text());
  if (!answer.ok) throw new Error(interpolate(gettext("This could not be converted: the server answered %s."), [answer.status]));
  // The server has escaped what was typed; this is its own markup.
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
  return parsed.querySelector(`[data-mode="${mode}"]`);
}

async function changeMode(field, mode) {
  const before = field.dataset.current;
  const error = field.querySelector("[data-mode-error]");
  error.hidden = true;
  try {
    if (needsWriting(field, before, mode)) {
      const part = await written(field, before, mode);
      partOf(field, mode).replaceWith(part);
      for (const row of part.querySelectorAll(".condition-parts")) showOperand(row.closest("[data-row]"));
      field.dataset.wrote = JSON.stringify({ before, mode, holds: holds(part) });
    }
    showMode(field, mode);
  } catch (refusal) {
    error.textContent = refusal instanceof TypeError ? gettext("There is no connection to the server, so this stays as it is.") : refusal.message;
    error.hidden = false;
    const radio = radioOf(field, before);
    radio.checked = true;
    radio.focus();
  }
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

function needsWriting(field, before, mode) {
  if (mode === "" || mode === before) return false;
  if (before === "") return isEmpty(partOf(field, mode));
  // Back to where it came from with nothing changed on the way: that is still there.
  const wrote = JSON.parse(field.dataset.wrote ?? "{}");
  return !(wrote.before === mode && wrote.mode === before && wrote.holds === holds(partOf(field, before)));
}

function showMode(field, mode) {
  field.dataset.current = mode;
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
  const input = value.querySelector("input");
  input.placeholder = EXAMPLES[chosen] ?? "";
  if (chosen === "boolean") input.setAttribute("list", "known-booleans");
  else input.removeAttribute("list");
}

function onCondition(target) {
  const row = target.closest("[data-row]");
  if (target.matches("[data-comparison]")) suitSort(row, target.value);
  // There are two such values, and most conditions ask for this one.
  const value = row.querySelector(".part-value input");
  if (target.matches("[data-type]") && target.value === "boolean" && !value.value) value.value = "true";
  showOperand(row);
}

function onGroup(target) {
  const group = target.closest("[data-rows]");
  const isOf = (one) => one.closest("[data-rows]") === group;
  for (const one of [...group.querySelectorAll("[data-when-ruled]")].filter(isOf)) one.hidden = !target.value;
  for (const one of [...group.querySelectorAll("[data-when-always]")].filter(isOf)) one.hidden = Boolean(target.value);
  const list = group.querySelector("[data-list]");
  if (target.value && !rowsOf(list).length) showOperand(add(list, "condition"));
}

// JSON is checked when it is left; what counts is the check of the server.

function jsonError(text) {
  if (!text.trim()) return "";
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return interpolate(gettext("This is not JSON yet: %s"), [error.message]);
  }
}

function checkJson(box) {
  const error = jsonError(box.value);
  let note = box.nextElementSibling?.matches("[data-json-error]") ? box.nextElementSibling : null;
  if (error && !note) {
    note = make("p", { className: "error", id: `now-${box.id}` });
    note.dataset.jsonError = "";
    box.after(note);
  }
  if (note) note.textContent = error;
  if (note) note.hidden = !error;
  box.toggleAttribute("aria-invalid", false);
  if (error) {
    box.setAttribute("aria-invalid", "true");
    box.setAttribute("aria-describedby", note.id);
  }
}

document.addEventListener("change", (event) => {
  const { target } = event;
  if (target.matches("[data-modes] input[type=radio]")) {
    const field = target.closest("[data-modes]");
    const mine = (converting ?? Promise.resolve()).then(() => changeMode(field, target.value));
    converting = mine;
    mine.then(() => { if (converting === mine) converting = null; });
  } else if (target.matches("[data-comparison], [data-type]")) onCondition(target);
  else if (target.matches("[data-operator]")) onGroup(target);
  else if (target.matches("li.condition")) for (const one of target.querySelectorAll("[data-comparison]")) onCondition(one);
});
// Who saves while a field is being written in another way, saves it with what stands in it then.
document.addEventListener("submit", (event) => {
  if (!converting || event.target !== form) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  converting.then(() => form.requestSubmit(event.submitter));
}, true);
document.addEventListener("focusout", (event) => {
  if (event.target.matches("[data-json]")) checkJson(event.target);
});
for (const row of document.querySelectorAll(".condition-parts")) showOperand(row.closest("[data-row]"));
for (const chosen of document.querySelectorAll("[data-modes] input[type=radio]:checked")) {
  showMode(chosen.closest("[data-modes]"), chosen.value);
}
