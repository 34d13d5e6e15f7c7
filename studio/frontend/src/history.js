// Undo that survives a save, which loads the page anew; so does one's place in the text.
//
// When the page is left, what each editor could undo is put into the storage of the tab. A later page about the
// same thing takes it for a text that is, letter for letter, the one that was left.

import { history, historyField } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";

const PREFIX = "undo";
const MOST = 2_000_000; // characters: a tab has room for about twice as much
const person = document.querySelector("[data-person]")?.dataset.person ?? "";

const keyOf = (about) => [PREFIX, person, about].map(encodeURIComponent).join("/");

function stored(about) {
  try {
    const left = JSON.parse(sessionStorage.getItem(keyOf(about)));
    return Array.isArray(left) ? left : [];
  } catch {
    return []; // switched off, or nothing there
  }
}

// What to begin with: the state, with the history of this text, if one was left; after a save also the place that
// somebody had in it. Names of rows change with a save, so another field with the same text serves, too.
export function beginning(about, name, text, extensions) {
  const left = text ? stored(about).filter((one) => one.text === text) : [];
  const own = left.find((one) => one.name === name) ?? left[0];
  const config = { doc: text, extensions: [history(), ...extensions] };
  if (!own) return { state: EditorState.create(config) };
  try {
    const json = { doc: text, selection: own.selection, history: own.history };
    return { state: EditorState.fromJSON(json, config, { history: historyField }), place: own.place };
  } catch {
    return { state: EditorState.create(config) };
  }
}

// What stands at the upper edge, and whether somebody is typing here.
function placeIn(view) {
  const { top } = view.scrollDOM.getBoundingClientRect();
  return { from: view.lineBlockAtHeight(top - view.documentTop).from, isTyping: view.hasFocus };
}

// Takes somebody back to their place, unless the page has something to be read first.
export function goTo(view, place) {
  if (document.querySelector("[data-first-look]")) return;
  view.requestMeasure({
    read: () => view.lineBlockAt(Math.min(place.from, view.state.doc.length)).top,
    write: (top) => { view.scrollDOM.scrollTop = top; },
  });
  if (place.isTyping && document.activeElement === document.body) view.focus();
}

function entry(view, name, isSaved) {
  const { doc, selection, history: past } = view.state.toJSON({ history: historyField });
  return { name, text: doc, selection, history: past, ...(isSaved ? { place: placeIn(view) } : {}) };
}

// `editors` are pairs of a view and the name of its field; `isSaved` if the page is left because it is saved.
export function leave(about, editors, isSaved) {
  const entries = [];
  let room = MOST;
  for (const [view, name] of editors) {
    const one = entry(view, name, isSaved);
    if (!one.history.done?.length && !one.history.undone?.length) continue;
    room -= JSON.stringify(one).length;
    if (room > 0) entries.push(one);
  }
  try {
    sessionStorage.setItem(keyOf(about), JSON.stringify(entries));
  } catch { /* no room: then there is nothing to undo after this */ }
}

export function forget() {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(`${PREFIX}/`)) sessionStorage.removeItem(key);
  } catch { /* switched off: nothing was kept */ }
}
