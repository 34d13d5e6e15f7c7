// Forms with text: a question before one leaves them, and a copy of what is typed, which the next visit offers. The
// editor of prompts has both of its own, and comments have the question. After a form was refused, the first error
// is in sight and in focus, and a summary above the form leads to all of them.

import { afterTyping, newId, offer, sendCopy } from "./copy-notice.js";
import { make, unfold } from "./elements.js";
import { isLetter } from "./shortcuts.js";
import { keep, keyOf, person, remove, typedInto } from "./unsaved.js";

const { gettext } = window;
const answered = document.querySelector("meta[name=page-address]"); // a form
const sent = answered?.dataset.copy;
const TEXTS = "textarea, input:is(:not([type]), [type=text], [type=url], [type=email], [type=number], [type=date], [type=datetime-local])";
const OTHERS = "#edit-form, #context-form, #preview-form, #try-form, #choose, [data-comment-form], :has([type=password])";

const isChanged = (control) => {
  if (control.type === "checkbox" || control.type === "radio") return control.checked !== control.defaultChecked;
  if (control.options) return [...control.options].some((option) => option.selected !== option.defaultSelected);
  return "defaultValue" in control && control.type !== "hidden" && control.value !== control.defaultValue;
};

function setUp(form, place) {
  const isRefused = form.querySelector("[aria-invalid=true]") !== null; // what was typed came back
  let isTouched = isRefused;
  let isLeaving = false;
  const id = newId();
  const about = `form ${location.pathname}${location.search} ${form.getAttribute("action") ?? place}`;
  const key = keyOf(about, "", id);
  const isDirty = () => isTouched && form.isConnected && (isRefused || [...form.elements].some(isChanged));

  const write = () => {
    if (isDirty()) keep(key, { typed: typedInto(form) });
    else remove(key);
  };
  for (const kind of ["input", "change"]) form.addEventListener(kind, () => { isTouched = true; });
  const stop = afterTyping(form, write);
  document.addEventListener("studio:signs-out", () => {
    stop();
    isLeaving = true;
    remove(key);
  });
  form.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    write();
    isLeaving = true;
    sendCopy(form, id);
  });
  document.addEventListener("studio:stays", () => { isLeaving = false; });
  addEventListener("pageshow", () => { isLeaving = false; });
  addEventListener("beforeunload", (event) => {
    if (!isLeaving && isDirty()) event.preventDefault();
  });

  const notices = make("div");
  notices.setAttribute("role", "status");
  form.before(notices);
  offer({
    about,
    id,
    shown: typedInto(form),
    place: notices,
    note: () => gettext("You typed it on this page, and it was never saved."),
    restore: (copy, row) => {
      fill(form, copy.typed);
      remove(copy.key);
      row.remove();
      form.querySelector(TEXTS).focus();
    },
    after: form,
  });
}

// Controls with the same name are filled in their order.
function fill(form, typed) {
  const left = [...typed];
  for (const control of form.elements) {
    if (!control.name || control.type === "hidden") continue;
    const holds = (value) => typed.some((one) => one[0] === control.name && one[1] === value);
    const next = left.findIndex(([name]) => name === control.name);
    if (control.type === "checkbox" || control.type === "radio") control.checked = holds(control.value);
    else if (control.multiple) for (const option of control.options) option.selected = holds(option.value);
    else if (next >= 0) [[, control.value]] = left.splice(next, 1);
    for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, { bubbles: true }));
  }
}

const isOurs = (form) => !form.matches(OTHERS) && form.dataset.unsaved === undefined && form.querySelector(TEXTS);
for (const [place, form] of [...document.querySelectorAll("#content form[method=post]")].entries()) {
  if (person && isOurs(form)) setUp(form, place);
  else if (sent && !form.hasAttribute("action")) sendCopy(form, sent); // it goes on from the form that was answered
}

// Ctrl+S saves the draft, and Ctrl+Enter sends a comment. In other forms both are the only button; no key chooses one of
// several.
document.addEventListener("keydown", (event) => {
  const { target, key, altKey, ctrlKey, metaKey } = event;
  const isSave = isLetter(event, "s");
  if (!(ctrlKey || metaKey) || altKey || event.isComposing || event.defaultPrevented || !(isSave || key === "Enter")) return;
  const draft = document.getElementById("save-draft");
  const form = target.form ?? target.closest("form") ?? document.querySelector("form[data-unsaved]");
  const isComment = form?.matches("[data-comment-form]");
  const isOther = form?.method === "post" && !form.matches("#edit-form") && !(isComment && isSave);
  const [button, another] = isSave && draft ? [draft] : isOther ? [...form.elements].filter((one) => one.type === "submit") : [];
  if (!button || (another && !isComment)) return;
  event.preventDefault();
  button.form.requestSubmit(button);
});

const CONTROL = "input:not([type=hidden]), textarea, select";

function lookAtErrors() {
  const content = document.getElementById("content");
  if (!content || document.querySelector("[data-first-look]")) return;
  for (const error of content.querySelectorAll("form :is(.field, td) .error")) error.closest(".field, td").querySelector(CONTROL)?.setAttribute("aria-invalid", "true");
  const wrong = [...content.querySelectorAll(`:is(${CONTROL})[aria-invalid=true]`)];
  wrong.forEach(unfold);
  const answer = wrong.length ? null : content.querySelector("[data-answer]"); // what the form has asked for
  const first = wrong[0] ?? answer ?? (answered && content.querySelector(".error[role=alert], .notice-error[role=alert]"));
  if (!first) return;
  if (wrong.length) wrong[0].closest("form")?.prepend(summaryOf(wrong));
  else first.tabIndex = -1;
  first.focus({ preventScroll: true });
  first.scrollIntoView({ block: "center" });
}

function summaryOf(wrong) {
  const list = make("ul", { className: "bullets" });
  const summary = make("div", { className: "notice notice-error" }, make("p", { textContent: gettext("Not saved. Correct these fields:") }), list);
  for (const [place, control] of wrong.entries()) {
    control.id ||= `wrong-${place}`;
    const error = errorOf(control);
    const link = make("a", { className: "link", href: `#${control.id}`, textContent: [nameOf(control), error?.textContent.trim()].filter(Boolean).join(": ") });
    const line = list.appendChild(make("li", {}, link));
    control.addEventListener("input", () => { // it is being corrected
      control.removeAttribute("aria-invalid");
      error?.remove();
      line.remove();
      if (!list.firstChild) summary.remove();
    }, { once: true });
  }
  return summary;
}

const titleOf = (control) => /checkbox|radio/.test(control.type) && document.getElementById(control.closest("[role=group]")?.getAttribute("aria-labelledby"));
const nameOf = (control) => (titleOf(control) || control.labels?.[0])?.textContent.trim() ?? control.ariaLabel ?? "";

// The error that describes a control; where none is said to, the one next to it does from now on.
function errorOf(control) {
  const ids = (control.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean);
  const described = ids.map((id) => document.getElementById(id)).map((one) => (one?.matches(".error") ? one : one?.querySelector(".error"))).find(Boolean);
  const error = described ?? control.closest(".field, td")?.querySelector(".error");
  if (error && !described) {
    error.id ||= `why-${control.id}`;
    control.setAttribute("aria-describedby", [error.id, ...ids].join(" "));
  }
  return error;
}

lookAtErrors();
