// Placeholders in an editor: tinted, and underlined where they are not right.

import { linter } from "@codemirror/lint";
import { RangeSetBuilder, StateField } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";

import { inSingleBraces, read } from "./grammar.js";
import { declares, known, onNames } from "./names.js";
import { reasonFor } from "./words.js";

const WAIT = 400;
const BROKEN = new Set(["empty", "brace", "first", "open", "name", "bar", "quotes", "quote", "rest"]);

const whole = Decoration.mark({ class: "prompt-variable" });
const fallback = Decoration.mark({ class: "prompt-fallback" });

// {placeholders, problems, marks} of the text of an editor; `problems` is not yet what is known of the names.
const found = StateField.define({
  create: (state) => readAll(state.doc.toString()),
  update: (value, transaction) => (transaction.docChanged ? readAll(transaction.newDoc.toString()) : value),
  provide: (field) => EditorView.decorations.from(field, (value) => value.marks),
});

function readAll(text) {
  const { placeholders, problems } = read(text);
  const marks = new RangeSetBuilder();
  for (const one of placeholders) {
    marks.add(one.from, one.to, whole);
    if (one.fallbackFrom !== undefined) marks.add(one.fallbackFrom, one.fallbackTo, fallback);
  }
  return { placeholders, problems, marks: marks.finish() };
}

// Whether somebody is still writing it: nothing but spaces is between its end and the cursor.
function isBeingTyped({ state, hasFocus }, { from, to }) {
  const { head } = state.selection.main;
  const isOpen = !state.sliceDoc(from, to).endsWith("}") && state.sliceDoc(from, from + 2) === "{{";
  return hasFocus && isOpen && head >= to && head <= state.doc.lineAt(to).to && !state.sliceDoc(to, head).trim();
}

// What is not right with a text whose placeholders are filled in.
function problemsOf(view) {
  const { placeholders, problems } = view.state.field(found);
  const undeclared = placeholders.filter(({ path }) => !declares(path));
  return [
    ...problems.filter((problem) => !isBeingTyped(view, problem)),
    ...inSingleBraces(view.state.doc.toString(), known()),
    ...undeclared.map(({ from, to, path }) => ({ from, to, reason: "undeclared", about: path })),
  ];
}

// In a text that is used as it is, a placeholder is just what deserves a word.
function literalsOf(view) {
  return read(view.state.doc.toString()).placeholders.map(({ from, to }) => ({ from, to, reason: "literal" }));
}

const diagnostic = (problem) => ({
  from: problem.from,
  to: problem.to,
  severity: BROKEN.has(problem.reason) ? "warning" : "info",
  message: reasonFor(problem),
});

// The extension; `literal` for a text that is used as it is.
export function variables(literal) {
  const problems = literal ? literalsOf : problemsOf;
  const needsRefresh = (update) => update.selectionSet || update.focusChanged || update.transactions.some(onNames);
  const advice = linter((view) => problems(view).map(diagnostic), { delay: WAIT, needsRefresh });
  return literal ? advice : [found, advice];
}

