// Suggestions for what goes between the braces.

import { autocompletion, closeCompletion, completionKeymap, completionStatus, pickedCompletion } from "@codemirror/autocomplete";
import { Prec } from "@codemirror/state";
import { keymap } from "@codemirror/view";

import { pathsIn } from "./grammar.js";
import { all, tellNames } from "./names.js";
import { DECLARED, USED, origin } from "./words.js";

const OPENED = /\{\{[ \t]*[A-Za-z0-9_.]*$/;
const CLOSED = /^[ \t]*\}\}/;
const sections = { declared: { name: DECLARED, rank: 0 }, used: { name: USED, rank: 1 } };

// What stands on this page, saved or not.
function onPage() {
  const texts = [...document.querySelectorAll("textarea[data-placeholders=filled]")].map((one) => one.value);
  return new Set(texts.flatMap(pathsIn));
}

function options(unfinished) {
  const suggested = new Map();
  for (const { path, title, type, help, declared, used } of all()) {
    suggested.set(path, {
      label: path,
      detail: ` ${declared ? type : origin(used)}`, // read out as a word of its own
      info: [title === path ? "" : title, help].filter(Boolean).join("\n") || undefined,
      section: declared ? sections.declared : sections.used,
    });
  }
  for (const path of onPage()) {
    if (!suggested.has(path) && path !== unfinished) suggested.set(path, { label: path, section: sections.used });
  }
  return [...suggested.values()].map((option) => ({ ...option, apply: insert }));
}

// The whole placeholder is written, however much of it was there: `{{`, a part of the name, the closing braces.
function insert(view, completion, from, to) {
  const { state } = view;
  const before = state.sliceDoc(Math.max(0, from - 80), from);
  const opened = /\{\{[ \t]*$/.exec(before)?.[0].length ?? 0;
  const closed = CLOSED.exec(state.sliceDoc(to, to + 80))?.[0].length ?? 0;
  const text = `{{ ${completion.label} }}`;
  view.dispatch({
    changes: { from: from - opened, to: to + closed, insert: text },
    selection: { anchor: from - opened + text.length },
    userEvent: "input.complete",
    annotations: pickedCompletion.of(completion),
  });
}

function source(names) {
  return async (context) => {
    const opened = context.matchBefore(OPENED);
    if (!opened && !context.explicit) return null;
    await tellNames(context.view, names);
    if (context.aborted) return null;
    const typed = context.matchBefore(/[A-Za-z0-9_.]*/);
    return { from: typed.from, options: options(typed.text), validFor: /^[A-Za-z0-9_.]*$/ };
  };
}

// Escape closes suggestions that are shown; while they are only looked for, it is for what is around the editor.
const escape = { key: "Escape", run: (view) => completionStatus(view.state) === "active" && closeCompletion(view) };
const keys = [escape, ...completionKeymap.filter(({ key }) => key !== "Escape")];

// The extension; `names` is the address of the names, if there is one. Between braces nobody begins a new line, so
// Enter takes a suggestion from the first moment on.
export const completion = (names) => [
  autocompletion({ override: [source(names)], icons: false, maxRenderedOptions: 60, interactionDelay: 0, defaultKeymap: false }),
  Prec.highest(keymap.of(keys)),
];
