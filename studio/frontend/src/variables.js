// Placeholders in an editor: tinted, underlined where they are not right, and left to right in a text of any direction.

import { linter } from "@codemirror/lint";
import { Prec, RangeSetBuilder, StateField } from "@codemirror/state";
import { Decoration, Direction, EditorView } from "@codemirror/view";

import { inSingleBraces, read } from "./grammar.js";
import { declares, known, onNames } from "./names.js";
import { reasonFor } from "./words.js";

const WAIT = 400;
const BROKEN = new Set(["empty", "brace", "first", "open", "name", "bar", "quotes", "quote", "rest"]);

// A placeholder is code, and reads from left to right; its fallback is a text.
const isolated = (className) => ({
  whole: Decoration.mark({ class: className, attributes: { dir: "ltr" }, bidiIsolate: Direction.LTR }),
  fallback: Decoration.mark({ class: className && "prompt-fallback", attributes: { dir: "auto" }, bidiIsolate: null }),
});

// A field with {placeholders, problems, marks} of the text of an editor; `problems` is not yet what is known of the
// names.
function readWith(decorations) {
  const readAll = (doc) => {
    const { placeholders, problems } = read(doc.toString());
    return { placeholders, problems, marks: marksOf(placeholders, decorations) };
  };
  return StateField.define({
    create: (state) => readAll(state.doc),
    update: (value, transaction) => (transaction.docChanged ? readAll(transaction.newDoc) : value),
    provide: (field) => [
      Prec.lowest(EditorView.decorations.from(field, (value) => value.marks)), // around all others
      EditorView.bidiIsolatedRanges.of((view) => view.state.field(field).marks),
    ],
  });
}

function marksOf(placeholders, { whole, fallback }) {
  const marks = new RangeSetBuilder();
  for (const one of placeholders) {
    marks.add(one.from, one.to, whole);
    if (one.fallbackFrom !== undefined) marks.add(one.fallbackFrom, one.fallbackTo, fallback);
  }
  return marks.finish();
}

const found = readWith(isolated("prompt-variable"));
const literal = readWith(isolated(""));

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
  return view.state.field(literal).placeholders.map(({ from, to }) => ({ from, to, reason: "literal" }));
}

const diagnostic = (problem) => ({
  from: problem.from,
  to: problem.to,
  severity: BROKEN.has(problem.reason) ? "warning" : "info",
  message: reasonFor(problem),
});

// The extension; `isLiteral` for a text that is used as it is.
export function variables(isLiteral) {
  const problems = isLiteral ? literalsOf : problemsOf;
  const needsRefresh = (update) => update.selectionSet || update.focusChanged || update.transactions.some(onNames);
  const advice = linter((view) => problems(view).map(diagnostic), { delay: WAIT, needsRefresh });
  return [isLiteral ? literal : found, advice];
}
