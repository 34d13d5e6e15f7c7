// An editor in the place of a textarea, which stays the control of the form.
//
// What is typed into the editor is put into the textarea at once, with the events that a textarea sends, so
// that everything else on the page goes on to know nothing but the textarea. What a script puts into the textarea
// is shown by the editor, if the script sends `input`.

import { defaultKeymap, historyKeymap } from "@codemirror/commands";
import { lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap } from "@codemirror/view";

import { completion } from "./completion.js";
import { beginning, goTo } from "./history.js";
import { marks } from "./marks.js";
import { markdown } from "./markdown.js";
import { tellNames } from "./names.js";
import { surround } from "./surroundings.js";
import { PHRASES } from "./words.js";
import { variables } from "./variables.js";

const OWN = ["aria-invalid", "aria-describedby", "aria-required", "disabled"];

// The label speaks for the editor from now on.
function labelled(textarea) {
  const labels = [...textarea.labels];
  for (const label of labels) {
    label.id ||= `label-${textarea.id}`;
    label.removeAttribute("for");
  }
  return labels;
}

// What the editor says of itself to assistive technology; the textarea's own attributes come along.
function attributesOf(textarea, labels, described) {
  const isOff = textarea.matches(":disabled");
  const describedby = [textarea.getAttribute("aria-describedby"), described].filter(Boolean).join(" ");
  const attributes = {
    "aria-labelledby": labels.map((label) => label.id).join(" "),
    "aria-describedby": describedby,
    spellcheck: "true",
    autocorrect: "on",
    autocapitalize: "sentences",
    tabindex: "0",
  };
  if (textarea.getAttribute("aria-invalid") === "true") attributes["aria-invalid"] = "true";
  if (textarea.required) attributes["aria-required"] = "true";
  if (isOff) Object.assign(attributes, { "aria-readonly": "true" });
  return [EditorView.contentAttributes.of(attributes), EditorState.readOnly.of(isOff), EditorView.editable.of(!isOff)];
}

// Keeps the textarea at what the editor holds, and tells the page; also what is selected, which a hidden textarea cannot
// say itself.
function synced(textarea) {
  let atFocus = null;
  const onFocus = (view) => { atFocus = view.state.doc; };
  function onBlur(view) {
    if (atFocus !== null && !atFocus.eq(view.state.doc)) textarea.dispatchEvent(new Event("change", { bubbles: true }));
    atFocus = null;
  }
  return EditorView.updateListener.of(({ docChanged, focusChanged, selectionSet, view }) => {
    if (docChanged) {
      const text = view.state.doc.toString();
      if (textarea.value !== text) {
        textarea.value = text;
        textarea.dispatchEvent(new Event("input", { bubbles: true }));
      }
    }
    if (selectionSet || docChanged) {
      const { from, to } = view.state.selection.main;
      textarea.dispatchEvent(new CustomEvent("studio:selected", { bubbles: true, detail: { from, to } }));
    }
    if (focusChanged) (view.hasFocus ? onFocus : onBlur)(view);
  });
}

// Shows what something else has put into the textarea; only what differs is changed, so that the cursor stays.
function take(view, textarea) {
  const before = view.state.doc.toString();
  const after = textarea.value;
  if (before === after) return;
  let from = 0;
  while (from < before.length && before[from] === after[from]) from += 1;
  let end = 0;
  while (end < Math.min(before.length, after.length) - from && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  view.dispatch({ changes: { from, to: before.length - end, insert: after.slice(from, after.length - end) } });
}

// What a model reads and a reader does not see, as in versioning/domain/invisible.py. The tags of the flags that exist
// are no such thing: each of them between those before and after it.
const IN_FLAGS = ["gbeng", "gbsct", "gbwls"].flatMap((name) => {
  const tags = [...[...name].map((letter) => String.fromCodePoint(0xe0000 + letter.codePointAt(0))), "\u{e007f}"];
  return tags.map((_tag, at) => `(?<=\u{1f3f4}${tags.slice(0, at).join("")})${tags.slice(at).join("")}`);
});
const INVISIBLE = new RegExp([
  "[\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u206f]",
  "(?<![\\p{Emoji}\\u20e3])[\\ufe00-\\ufe0f]",
  "(?<!\\p{Unified_Ideograph})[\\u{e0100}-\\u{e01ef}]",
  `(?!${IN_FLAGS.join("|")})[\\u{e0000}-\\u{e007f}]`,
].join("|"), "gu");

// Makes the editor of a textarea; `about` is what the page edits, as in the keys of unsaved copies.
export function edit(textarea, about) {
  // Somebody may have begun to type already.
  const hadFocus = document.activeElement === textarea;
  const { selectionStart: anchor, selectionEnd: head } = textarea;
  const isLiteral = textarea.dataset.placeholders === "literal";
  const names = textarea.form?.dataset.names;
  const labels = labelled(textarea);
  const around = surround(textarea);
  const own = new Compartment();
  const attributes = () => attributesOf(textarea, labels, around.described);
  const extensions = [
    marks(textarea), // before the keys of all editors
    keymap.of([...around.keys, ...searchKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
    EditorView.lineWrapping,
    EditorView.perLineTextDirection.of(true), // a line in Arabic begins at the right
    highlightSpecialChars({ addSpecialChars: INVISIBLE }),
    highlightSelectionMatches({ minSelectionLength: 2 }),
    search({ top: true }),
    EditorState.phrases.of(PHRASES),
    markdown,
    variables(isLiteral),
    completion(names),
    own.of(attributes()),
    synced(textarea),
    EditorView.updateListener.of(around.update),
  ];
  const { state, place } = beginning(about, textarea.name, textarea.value, extensions);
  const view = new EditorView({ state });
  around.put(view);
  view.dom.style.setProperty("--rows", textarea.rows);
  // Not just out of sight: a browser would go on to lay out all of the text, with every key.
  textarea.hidden = true;
  textarea.focus = () => view.focus();
  textarea.addEventListener("input", () => take(view, textarea));
  addEventListener("pageshow", () => take(view, textarea));
  for (const label of labels) label.addEventListener("click", () => view.focus());
  // The page knows the textarea's own events; those of the text behind it would say everything twice.
  for (const kind of ["input", "change"]) {
    around.element.addEventListener(kind, (event) => { if (event.target !== textarea) event.stopPropagation(); });
  }
  new MutationObserver(() => view.dispatch({ effects: own.reconfigure(attributes()) })).observe(textarea, { attributeFilter: OWN });
  view.contentDOM.addEventListener("focus", () => tellNames(view, names), { once: true });
  if (hadFocus) {
    view.focus();
    view.dispatch({ selection: { anchor, head } });
  } else if (place) goTo(view, place);
  return view;
}
