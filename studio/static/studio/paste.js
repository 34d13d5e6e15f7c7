// What came with a paste into a prompt: characters that nobody sees, and placeholders of other tools. Both are named
// below the text; nothing changes before a button is pressed, and undo brings back what was pasted.

import { make } from "./elements.js";

const { gettext, interpolate, ngettext } = window;
const MOST_NAMED = 4;
const NAME = String.raw`[A-Za-z_]\w*(?:\.\w+)*`;
const FOREIGN = new RegExp([
  String.raw`\$\{\s*(?<dollar>${NAME})\s*\}`,
  String.raw`(?<![{$\\])\{\s*(?<braces>${NAME})\s*\}(?!\})`,
  String.raw`(?<!%)%\((?<percent>${NAME})\)[sd]`,
  String.raw`(?<![%\w])%[sd](?!\w)`,
].join("|"), "g");
const PATTERN = new RegExp(document.getElementById("invisible-characters").dataset.pattern, "gsu");
const pastes = new Map(); // what was pasted last, by its textarea: the text since then, and where the paste is in it

// Where two texts differ: from where, and to where in each.
function difference(before, after) {
  let from = 0;
  while (from < before.length && before[from] === after[from]) from += 1;
  let same = 0;
  while (same < Math.min(before.length, after.length) - from && before.at(-1 - same) === after.at(-1 - same)) same += 1;
  return { from, was: before.length - same, to: after.length - same };
}

// The rule of the service, which comes with the page: versioning/domain/invisible.py.
function invisibleIn({ text, start, end }) {
  const runs = [...text.matchAll(PATTERN)].filter(({ groups }) => groups.run);
  return runs.map(({ index, 0: run }) => ({ from: Math.max(index, start), to: Math.min(index + run.length, end), by: "" })).filter(({ from, to }) => from < to);
}

function foreignIn({ text, start, end }) {
  const found = [...text.slice(start, end).matchAll(FOREIGN)];
  const isNamed = ({ groups: { dollar, braces, percent } }) => dollar ?? braces ?? percent;
  const nameless = found.filter((one) => !isNamed(one));
  return found.map((one) => {
    const name = isNamed(one) ?? (nameless.length > 1 ? `value${nameless.indexOf(one) + 1}` : "value");
    return { from: start + one.index, to: start + one.index + one[0].length, by: `{{${name}}}` };
  });
}

// A textarea without an editor keeps its own undo only for what is put into it as if it were typed.
function change(box, places) {
  const paste = pastes.get(box);
  let [at, text] = [paste.start, ""];
  for (const { from, to, by } of places) {
    text += paste.text.slice(at, from) + by;
    at = to;
  }
  text += paste.text.slice(at, paste.end);
  box.focus();
  if (box.hidden) {
    box.value = paste.text.slice(0, paste.start) + text + paste.text.slice(paste.end);
    box.dispatchEvent(new Event("input", { bubbles: true }));
  } else {
    box.setSelectionRange(paste.start, paste.end);
    document.execCommand("insertText", false, text);
  }
}

const listed = (names) => [...new Set(names)].slice(0, MOST_NAMED).join(", ") + (new Set(names).size > MOST_NAMED ? " …" : "");

function row(says, label, act) {
  const button = make("button", { type: "button", className: "button button-small", textContent: label });
  button.addEventListener("click", act);
  return make("div", { className: "row" }, make("p", { className: "grow", textContent: says }), button);
}

function draw(box) {
  const paste = pastes.get(box);
  const [invisible, foreign] = [invisibleIn(paste), foreignIn(paste)];
  const rows = [];
  if (invisible.length) {
    const characters = invisible.flatMap(({ from, to }) => [...paste.text.slice(from, to)]);
    const names = characters.map((one) => `U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
    const says = ngettext("%(count)s invisible character came with the pasted text: %(names)s", "%(count)s invisible characters came with the pasted text: %(names)s", names.length);
    rows.push(row(interpolate(says, { count: names.length, names: listed(names) }, true), gettext("Remove invisible characters"), () => change(box, invisible)));
  }
  if (foreign.length) {
    const names = foreign.map(({ from, to, by }) => `${paste.text.slice(from, to)} → ${by}`);
    const says = interpolate(gettext("The pasted text has placeholders of another tool: %(names)s"), { names: listed(names) }, true);
    rows.push(row(says, gettext("Convert placeholders"), () => change(box, foreign)));
  }
  if (rows.length) rows.push(row("", gettext("Keep pasted text"), () => { forget(box); box.focus(); }));
  paste.note.replaceChildren(...rows);
  paste.note.hidden = !rows.length;
}

function forget(box) {
  pastes.get(box)?.note.remove();
  pastes.delete(box);
}

document.addEventListener("paste", ({ target }) => {
  const box = target.closest?.("textarea[data-prompt]") ?? target.closest?.(".prompt-editor")?.querySelector("textarea[data-prompt]");
  if (!box) return;
  const before = box.value;
  setTimeout(() => {
    const { from, to } = difference(before, box.value);
    forget(box);
    if (from === to) return;
    const note = make("div", { className: "notice paste-note", hidden: true });
    note.setAttribute("role", "status");
    (box.closest(".prompt-editor") ?? box).after(note);
    pastes.set(box, { text: box.value, start: from, end: to, note });
    draw(box);
  });
}, true);

document.addEventListener("input", ({ target }) => {
  const paste = pastes.get(target);
  if (!paste || paste.text === target.value) return;
  const { from, was, to } = difference(paste.text, target.value);
  if (was <= paste.start) paste.start += to - was;
  else if (from < paste.end) paste.start = Math.min(paste.start, from);
  if (from < paste.end) paste.end = Math.max(paste.end, was) + to - was;
  paste.text = target.value;
  draw(target);
});
