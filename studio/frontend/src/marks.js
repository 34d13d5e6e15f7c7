// Words in the text that something is about, such as a comment: marked, with who says what where one points at them
// or puts the cursor into them.
//
// The page has them as `[data-mark]`: the control of the text, the words, where they begin in it, who, what, and where
// that stands.

import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, hoverTooltip, keymap, showTooltip } from "@codemirror/view";

import { patternOf } from "../../static/studio/text.js";
import { GO, saying } from "./words.js";

const renewed = StateEffect.define();

// Lets an editor know that those of the page have changed.
export const tellMarks = (view) => view.dispatch({ effects: renewed.of(null) });

// The place of the words, with any space between them; of several the one that is nearest to where they were saved.
function placeOf(doc, { words, start }) {
  let nearest = null;
  let least = Infinity;
  const text = doc.toString();
  const pattern = patternOf(words, "g");
  for (let found = words.trim() && pattern.exec(text); found; found = pattern.exec(text)) {
    const away = Math.abs(found.index - start);
    if (away < least) [nearest, least] = [{ from: found.index, to: found.index + found[0].length }, away];
    pattern.lastIndex = found.index + 1; // places may overlap
  }
  return nearest;
}

// Those of the page that belong to this text. What is written in another way than it was saved has other controls.
function aboutTextarea(textarea) {
  const field = textarea.name.split(".")[0];
  return [...document.querySelectorAll("[data-mark]")].map(({ dataset }) => dataset).filter(({ control }) => {
    const named = document.getElementsByName(control)[0];
    const isThere = named && !named.closest("[data-mode][hidden]");
    return isThere ? named === textarea : control.split(".")[0] === field;
  });
}

// The marks of a text; those that there were `before` stay with their words.
function found(textarea, doc, before = Decoration.none) {
  const known = new Map();
  before.between(0, doc.length, (from, to, { spec }) => { known.set(spec.about.address, { from, to }); });
  const ranges = [];
  for (const { words, start, by, says, address } of aboutTextarea(textarea)) {
    const place = known.get(address) ?? placeOf(doc, { words, start: Number(start) });
    if (place) ranges.push(Decoration.mark({ class: "prompt-mark", about: { by, says, address } }).range(place.from, place.to));
  }
  return Decoration.set(ranges, true);
}

// All that is said about a place: {from, to, about: [{by, says, address}]}, or null.
function at(marks, position) {
  const here = [];
  marks.between(position, position, (from, to, { spec }) => { here.push({ from, to, about: spec.about }); });
  if (!here.length) return null;
  return { from: Math.min(...here.map((one) => one.from)), to: Math.max(...here.map((one) => one.to)), about: here.map((one) => one.about) };
}

const element = (name, attributes, ...children) => {
  const one = Object.assign(document.createElement(name), attributes);
  one.append(...children);
  return one;
};

const tooltip = ({ from, to, about }) => ({
  pos: from,
  end: to,
  above: true,
  create: () => ({
    dom: element("div", { className: "prompt-about" }, ...about.map(({ by, says, address }) => element(
      "div",
      {},
      element("strong", {}, element("bdi", { textContent: by })),
      element("p", { textContent: says, dir: "auto" }),
      element("a", { className: "link", href: address, textContent: GO }),
    ))),
  }),
});

function goTo(address) {
  const place = address.startsWith("#") && document.getElementById(address.slice(1));
  if (!place) return location.assign(address);
  location.hash = address;
  return place.focus();
}

// The extension for the editor of a textarea.
export function marks(textarea) {
  const field = StateField.define({
    create: (state) => found(textarea, state.doc),
    update(value, transaction) {
      const mapped = transaction.docChanged ? value.map(transaction.changes) : value;
      const isRenewed = transaction.effects.some((effect) => effect.is(renewed));
      return isRenewed ? found(textarea, transaction.newDoc, mapped) : mapped;
    },
    provide: (own) => EditorView.decorations.from(own),
  });
  const atCursor = (state) => (state.selection.main.empty ? at(state.field(field), state.selection.main.head) : null);
  // Nothing is announced while one types.
  const shown = StateField.define({
    create: () => null,
    update(value, { docChanged, selection, state }) {
      if (docChanged) return null;
      const here = selection ? atCursor(state) : null;
      return selection ? here && tooltip(here) : value;
    },
    provide: (own) => showTooltip.from(own),
  });
  return [
    field,
    shown,
    hoverTooltip((view, position) => {
      const here = at(view.state.field(field), position);
      return here && !view.state.field(shown) ? tooltip(here) : null;
    }),
    EditorState.transactionExtender.of(({ docChanged, selection, startState }) => {
      if (docChanged || !selection?.main.empty) return null;
      const here = at(startState.field(field), selection.main.head);
      if (!here || atCursor(startState)?.from === here.from) return null;
      return { effects: EditorView.announce.of(here.about.map(saying).join(" ")) };
    }),
    keymap.of([{
      key: "Alt-Enter",
      run(view) {
        const here = atCursor(view.state);
        if (here) goTo(here.about[0].address);
        return Boolean(here);
      },
    }]),
  ];
}
