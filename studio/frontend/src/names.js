// The names that can be filled in: those of the context schema, and those that are used elsewhere.
//
// The page asks the server for them when somebody begins to write, and once for all of its editors.

import { StateEffect } from "@codemirror/state";

const arrived = StateEffect.define();
let asked = null;
let names = [];
let knownNames = new Set();

// A transaction that says that the names have arrived.
export const onNames = (transaction) => transaction.effects.some((effect) => effect.is(arrived));

// [{path, title, help, type, declared, used}], from the server; empty while it has not answered, or where it cannot.
export const all = () => names;
export const known = () => knownNames;

export function declares(path) {
  const declared = names.filter((name) => name.declared);
  if (!declared.length) return true;
  const below = (one, other) => one === other || one.startsWith(`${other}.`);
  return declared.some((name) => below(name.path, path) || below(path, name.path));
}

async function ask(address) {
  try {
    const answer = await fetch(address, { headers: { Accept: "application/json" } });
    if (answer.ok && !answer.redirected) names = (await answer.json()).names;
  } catch { /* then there is nothing to suggest but what is on the page */ }
  knownNames = new Set(names.map((name) => name.path));
}

// Lets an editor know the names, sooner or later.
export function tellNames(view, address) {
  if (!address) return Promise.resolve();
  asked ??= ask(address);
  return asked.then(() => view.dispatch({ effects: arrived.of(null) }));
}
