// The placeholders of a text, and what looks like one and is none. Pure: knows no editor and no page.
//
// What a placeholder is, `client/editor_client/shared/instructions.py` decides; a test holds `read` against
// it. Everything else stays in the text as it was written, so all of `problems` is advice.

import { clipped } from "../../static/studio/text.js";

const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*/y;
const PATH = /[A-Za-z_][A-Za-z0-9_.]*/y;
const MAX_PROBLEMS = 200;

function lengthAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

// The placeholder that begins at `from`, or null: {from, to, path, pathFrom, fallbackFrom, fallbackTo}.
function placeholderAt(text, from) {
  const pathFrom = from + 2 + lengthAt(SPACE, text, from + 2);
  const pathTo = pathFrom + lengthAt(PATH, text, pathFrom);
  if (pathTo === pathFrom) return null;
  const found = { from, path: text.slice(pathFrom, pathTo), pathFrom };
  let at = pathTo + lengthAt(SPACE, text, pathTo);
  if (text.startsWith("||", at)) {
    const open = at + 2 + lengthAt(SPACE, text, at + 2);
    const close = text[open] === '"' || text[open] === "'" ? text.indexOf(text[open], open + 1) : -1;
    if (close === -1) return null;
    Object.assign(found, { fallbackFrom: open, fallbackTo: close + 1 });
    at = close + 1 + lengthAt(SPACE, text, close + 1);
  }
  return text.startsWith("}}", at) ? { ...found, to: at + 2 } : null;
}

// Returns {placeholders, problems}, each in the order of the text. A problem is {from, to, reason, about}.
export function read(text) {
  const placeholders = [];
  const problems = [];
  const taken = []; // what the search for stray braces leaves out
  for (let at = text.indexOf("{{"); at !== -1; at = text.indexOf("{{", at)) {
    const found = placeholderAt(text, at);
    // Of three braces, the last two may open a placeholder.
    const broken = found || text[at + 2] === "{" ? null : brokenAt(text, at);
    if (found) placeholders.push(found);
    if (broken && problems.length < MAX_PROBLEMS) problems.push(broken);
    if (found ?? broken) taken.push(found ?? broken);
    at = (found ?? broken)?.to ?? at + 1;
  }
  for (const one of placeholders) {
    if (/\.\.|\.$/.test(one.path)) problems.push({ from: one.from, to: one.to, reason: "gap", about: one.path });
  }
  problems.push(...strayBraces(text, taken));
  return { placeholders, problems: problems.sort((one, other) => one.from - other.from).slice(0, MAX_PROBLEMS) };
}

// Two braces that open no placeholder: how far they were meant to reach, and why they are none.
function brokenAt(text, from) {
  const line = text.slice(from + 2, endOfLine(text, from));
  const next = line.indexOf("{{");
  const rest = next === -1 ? line : line.slice(0, next);
  const [double, single] = [rest.indexOf("}}"), rest.indexOf("}")];
  if (single === -1) return { from, to: from + 2 + rest.trimEnd().length, ...(reasonOf(rest, "open")) };
  if (double === -1) {
    const inside = rest.slice(0, single);
    return { from, to: from + 2 + single + 1, ...reasonOf(inside, "brace") };
  }
  return { from, to: from + 2 + double + 2, ...reasonOf(rest.slice(0, double), "name") };
}

const LONGEST_LINE = 2_000;

function endOfLine(text, from) {
  const end = text.slice(from, from + LONGEST_LINE).indexOf("\n");
  return from + (end === -1 ? LONGEST_LINE : end);
}

// Why the text between the braces is none that can be filled in; `otherwise` where nothing is wrong with it.
function reasonOf(inside, otherwise) {
  const text = inside.trim();
  const path = text.slice(0, lengthAt(PATH, text, 0));
  const rest = text.slice(path.length).trimStart();
  if (!text) return { reason: "empty", about: "" };
  if (path && !rest) return { reason: otherwise, about: path };
  if (path && rest.startsWith("||")) return fallbackReason(rest.slice(2).trim(), path, otherwise);
  if (path && rest.startsWith("|")) return { reason: "bar", about: path };
  return { reason: otherwise === "open" ? "open" : "name", about: shortened(text) };
}

function fallbackReason(fallback, path, otherwise) {
  const [quote] = fallback;
  if (quote !== '"' && quote !== "'") return { reason: "quotes", about: path };
  const close = fallback.indexOf(quote, 1);
  if (close === -1) return { reason: "quote", about: path };
  return { reason: close === fallback.length - 1 ? otherwise : "rest", about: path };
}

const shortened = (text) => (text.length > 40 ? `${clipped(text, 40)}…` : text);

// Braces without a partner. JSON in a prompt has many braces, so only what is left over is said; and nothing
// of a brace in quotes, for that is how one writes about braces.
function strayBraces(text, taken) {
  const open = [];
  const closers = [];
  let next = 0;
  for (const { 0: brace, index } of text.matchAll(/[{}]/g)) {
    while (taken[next]?.to <= index) next += 1;
    if (taken[next]?.from <= index || isQuoted(text, index)) continue;
    if (brace === "{") open.push(index);
    else if (open.length) open.pop();
    else closers.push(index);
  }
  const strays = [];
  for (const at of closers.slice(0, MAX_PROBLEMS)) {
    const stray = strayCloser(text, at);
    // Two in a row are one mistake.
    if (strays.at(-1)?.to === stray.from) strays.at(-1).to = stray.to;
    else strays.push(stray);
  }
  const unclosed = open.slice(0, MAX_PROBLEMS).map((at) => ({ from: at, to: at + 1, reason: "unclosed", about: "" }));
  return [...strays, ...unclosed];
}

const isQuoted = (text, at) => text[at - 1] === "\\" || (/["'`]/.test(text[at - 1] ?? "") && text[at - 1] === text[at + 1]);

const ONE_BRACE = /\{[^{}\n]*\}\}$/;
const LONGEST_PLACEHOLDER = 300;

// `{ name }}` lacks its first brace; other closing braces belong to nothing.
function strayCloser(text, at) {
  const before = ONE_BRACE.exec(text.slice(Math.max(0, at - LONGEST_PLACEHOLDER), at + 1));
  const { reason, about } = before ? reasonOf(before[0].slice(1, -2), "first") : {};
  if (reason !== "first") return { from: at, to: at + 1, reason: "stray", about: "" };
  return { from: at + 1 - before[0].length, to: at + 1, reason, about };
}

// Names of `known` between single braces, as other systems write them: [{from, to, reason, about}].
export function inSingleBraces(text, known) {
  const found = [...text.matchAll(/(?<!\{)\{[ \t]*([A-Za-z_][A-Za-z0-9_.]*)[ \t]*\}(?!\})/g)].filter(([, name]) => known.has(name));
  return found.map(({ 0: whole, 1: about, index: from }) => ({ from, to: from + whole.length, reason: "single", about }));
}

export const pathsIn = (text) => read(text).placeholders.map(({ path }) => path);
