// Comments without leaving the page: what is typed elsewhere stays. Words that are selected in a field, or a
// line whose number is pressed, become what a new comment on that field is about.

import { make, unfold } from "../studio/elements.js";
import { clipped } from "../studio/text.js";

const { gettext } = window;
const regions = () => document.querySelectorAll("[data-comments][id], [data-marked][id]");
const buttonOf = (form) => form.querySelector("button[type=submit]");
const typedIn = (root) => [...root.querySelectorAll("[data-comment-form] textarea")].filter((box) => box.value !== box.defaultValue);

// Before others hear of it: a comment is sent without leaving the page, and a form that leaves it takes the comments along.
document.addEventListener("submit", async (event) => {
  const { target: form, submitter } = event;
  const isComment = form.matches("[data-comment-form]");
  if (!isComment && (form.method !== "post" || submitter?.id === "save-draft" || !typedIn(document).length)) return;
  event.preventDefault();
  if (isComment) {
    if (submitter?.value !== "delete" || confirm(gettext("Delete this comment for good?"))) send(form, submitter);
    return;
  }
  event.stopImmediatePropagation();
  let isSent = confirm(gettext("You have typed a comment but not sent it. Send it and continue?"));
  for (let box; isSent && (box = typedIn(document)[0]);) isSent = await send(box.form, buttonOf(box.form));
  if (isSent) form.requestSubmit(submitter);
  else {
    const [box] = typedIn(document);
    unfold(box);
    box?.focus();
  }
}, true);

// Returns whether the comment was sent, and the page stays.
async function send(form, pressed) {
  const body = new URLSearchParams(new FormData(form, pressed));
  const problem = form.querySelector("[data-comment-problem]");
  if (pressed) pressed.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (answer.ok && page.querySelector("[data-comments]")) {
      form.reset();
      renew(page, form);
      return true;
    }
    const problems = [...page.querySelectorAll("[data-comment-error]")].map((one) => one.textContent);
    if (answer.ok) location.assign(answer.url);
    else tell(problem, problems.join(" ") || page.querySelector("h1")?.textContent || gettext("This could not be saved."));
  } catch {
    tell(problem, gettext("The server cannot be reached. What you typed is still here."));
  } finally {
    if (pressed) pressed.disabled = false;
  }
  return false;
}

const said = () => document.getElementById("comments-said");
const tell = (problem, textContent) => Object.assign(problem ?? said(), { textContent, hidden: false });

// Puts the comments as they are now in the place of those that were shown.
function renew(page, sent) {
  const before = new Set([...document.querySelectorAll(".comment[id], .thread[id]")].map((one) => one.id));
  const thread = sent.closest(".thread")?.id;
  const kept = typedIn(document).map((box) => [box.id, box.value]);
  for (const region of regions()) {
    const fresh = page.getElementById(region.id);
    if (fresh) region.replaceWith(document.adoptNode(fresh));
  }
  document.dispatchEvent(new Event("studio:renewed"));
  for (const [id, value] of kept) {
    const box = document.getElementById(id);
    if (!box) continue;
    box.value = value;
    unfold(box);
  }
  const added = [...document.querySelectorAll(".thread[id], .comment[id]")].find((one) => !before.has(one.id));
  const shown = added?.closest(".thread") ?? document.getElementById(thread) ?? document.getElementById("comments");
  unfold(shown);
  if (!shown.hasAttribute("tabindex")) shown.tabIndex = -1;
  shown.focus();
  said().textContent = added ? gettext("Comment added.") : gettext("Done.");
}

addEventListener("beforeunload", (event) => {
  if (typedIn(document).length) event.preventDefault();
});

// A person who unfolds a form is about to write, and sends it as a save is sent. This event comes later, when the focus
// may have gone on to the button: a key pressed there must not reach the text.
document.addEventListener("toggle", ({ target }) => {
  const summary = target.matches?.("details.comment-more[open]") && target.querySelector("summary");
  if (summary && summary === document.activeElement) target.querySelector("textarea")?.focus();
}, true);

// What a comment is about.

const choices = [["button-primary", gettext("Comment")], ["", gettext("Suggest a wording…")]];
const button = make("div", { className: "comment-here", hidden: true }, ...choices.map(([kind, textContent]) => make("button", { type: "button", className: `button button-small ${kind}`, textContent })));
document.body.append(button);

const formOf = (node) => {
  const element = node?.nodeType === Node.ELEMENT_NODE ? node : node?.parentElement;
  if (!element || element.closest("[data-comments]")) return null;
  return element.closest("[id^='field-']")?.querySelector(":scope > [data-comments] [data-comment-on]") ?? null;
};

// `place` is where the words are: a text of the version, the line in which they begin, how often they begin earlier in it.
function write(form, words, place) {
  unfold(form);
  form.elements.quote.value = clipped(words.trim(), form.elements.quote.maxLength);
  for (const name of ["path", "line", "earlier"]) form.elements[name].value = place?.[name] ?? "";
  form.elements.body.focus();
  button.hidden = true;
}

// Another wording begins with the words that it replaces.
function suggest(form) {
  const { quote, suggestion } = form.elements;
  suggestion.value ||= quote.value;
  suggestion.focus();
}
document.addEventListener("toggle", ({ target }) => { if (target.matches?.("[data-suggest][open]")) suggest(target.closest("form")); }, true);

document.addEventListener("selectionchange", () => {
  const selection = document.getSelection();
  const form = selection.isCollapsed ? null : formOf(selection.anchorNode);
  button.hidden = !form || formOf(selection.focusNode) !== form || !selection.toString().trim();
  if (button.hidden) return;
  const box = selection.getRangeAt(0).getBoundingClientRect();
  button.style.top = `${box.bottom + scrollY + 6}px`;
  button.style.left = `${Math.max(8, Math.min(box.left + scrollX, document.documentElement.clientWidth - button.offsetWidth - 8))}px`;
});

// The selection must not end before the button is pressed.
button.addEventListener("pointerdown", (event) => event.preventDefault());
button.addEventListener("click", (event) => {
  const isSuggestion = event.target === button.lastChild;
  const selection = document.getSelection();
  const form = formOf(selection.anchorNode);
  if (!form) return;
  const range = selection.getRangeAt(0);
  const words = withoutRemoved(range.cloneContents());
  write(form, words, placeOf(range, words));
  if (isSuggestion) form.querySelector("[data-suggest]").open = true;
});

const plain = (text) => text.trim().split(/\s+/u).join(" ");

// Where a range begins, or null where the page shows no text of the version.
function placeOf(range, words) {
  const start = range.startContainer;
  const element = start.nodeType === Node.ELEMENT_NODE ? start : start.parentElement;
  const text = element.closest("[data-path]");
  if (!text) return null;
  const line = element.closest(".diff-text, [data-line]") ?? (text.querySelector(".diff-text") ? null : text);
  if (!line) return null;
  const before = range.cloneRange();
  before.setStart(line, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const space = words.slice(0, words.length - words.trimStart().length);
  const lines = `${withoutRemoved(before.cloneContents())}${space}`.split("\n");
  const first = Number(line.dataset.line ?? numberOf(line) ?? 1);
  if (!first) return null;
  const own = `${lines.at(-1)}${words.trim()}`;
  return { path: text.dataset.path, line: first + lines.length - 1, earlier: countOf(plain(own), plain(words)) - 1 };
}

// The number of a line of a comparison; 0 for a line that was removed.
function numberOf(line) {
  const number = line.previousElementSibling;
  return number?.matches(".diff-no") ? Number(number.textContent) : null;
}

// On the page where a version is edited, the words come from the clipboard into a box: where they were copied is kept for
// them. A text with an editor tells what is selected in it.
const copied = new Map();
let selected = null;

document.addEventListener("studio:selected", ({ target, detail }) => { selected = { control: target, ...detail }; });

for (const kind of ["copy", "cut"]) {
  document.addEventListener(kind, ({ target }) => {
    const isPlain = target.matches("textarea, input");
    const from = isPlain ? { control: target, from: target.selectionStart, to: target.selectionEnd } : selected;
    if (!from?.control.form?.matches("[data-unsaved]") || (!isPlain && !target.closest(".cm-editor"))) return;
    const words = from.control.value.slice(from.from, from.to);
    if (words.trim()) copied.set(plain(words), placeOfCopied(from, words));
  }, true); // the editor of prompts cuts what it puts into the clipboard
}

// The place in the text as it was saved, which the comment is about: what was changed since then is skipped.
function placeOfCopied({ control, from }, words) {
  const [now, saved] = [control.value, control.defaultValue];
  const at = from + words.length - words.trimStart().length;
  let same = 0;
  while (same < at && now[same] === saved[same]) same += 1;
  let after = 0;
  while (after < Math.min(now.length - at, saved.length - same) && now.at(-1 - after) === saved.at(-1 - after)) after += 1;
  const start = same === at ? at : after === now.length - at ? saved.length - after : same;
  const lines = saved.slice(0, start).split("\n");
  const earlier = countOf(plain(`${lines.at(-1)}${words.trim()}`), plain(words)) - 1;
  return { control: control.name, line: lines.length, earlier: Math.max(earlier, 0) };
}

document.addEventListener("input", ({ target }) => {
  const place = target.matches("[data-comment-form] [data-quote]") ? copied.get(plain(target.value)) : null;
  if (!target.matches("[data-quote]")) return;
  const { elements } = target.form;
  for (const name of ["control", "line", "earlier"]) elements[name].value = place?.[name] ?? "";
  const field = place?.control.split(".")[0];
  if (field && !elements.field.value) elements.field.value = [...elements.field.options].some((one) => one.value === field) ? field : "";
});

function countOf(text, words) {
  let count = 0;
  for (let at = text.indexOf(words); words && at >= 0; at = text.indexOf(words, at + 1)) count += 1;
  return count;
}

function withoutRemoved(fragment) {
  fragment.querySelectorAll("del, .diff-no").forEach((one) => one.remove());
  // Marks stand for characters that a reader would not see.
  for (const mark of fragment.querySelectorAll(".invisible")) mark.replaceWith(String.fromCodePoint(parseInt(mark.textContent.slice(2), 16)));
  const rows = fragment.querySelectorAll(".diff-row");
  return rows.length ? [...rows].map((row) => row.textContent).join("\n") : fragment.textContent;
}

document.addEventListener("click", (event) => {
  const number = event.target.closest(".diff-no");
  const form = number && formOf(number);
  if (!form) return;
  const text = (number.closest("tr") ?? number.parentElement).querySelector(".diff-text:last-child");
  const words = text && withoutRemoved(text.cloneNode(true));
  const path = number.closest("[data-path]")?.dataset.path;
  if (words?.trim()) write(form, words, path && { path, line: numberOf(text), earlier: 0 });
});
