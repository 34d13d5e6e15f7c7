// Undo that survives a save, which loads the page anew.
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

// The state to begin with: with the history of this text, if one was left. Names of rows change with a save, so
// another field with the same text serves, too.
export function stateOf(about, name, text, extensions) {
  const left = text ? stored(about).filter((one) => one.text === text) : [];
  const own = left.find((one) => one.name === name) ?? left[0];
  const config = { doc: text, extensions: [history(), ...extensions] };
  if (!own) return EditorState.create(config);
  try {
    const json = { doc: text, selection: own.selection, history: own.history };
    return EditorState.fromJSON(json, config, { history: historyField });
  } catch {
    return EditorState.create(config);
  }
}

function entry(view, name) {
  const { doc, selection, history: past } = view.state.toJSON({ history: historyField });
  return { name, text: doc, selection, history: past };
}

// `editors` are pairs of a view and the name of its field.
export function leave(about, editors) {
  const entries = [];
  let room = MOST;
  for (const [view, name] of editors) {
    const one = entry(view, name);
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
