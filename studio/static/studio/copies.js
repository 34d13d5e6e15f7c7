// Stores a copy of what is typed into the form of this page, and offers the copies of earlier visits.

import { copiesOf, keep, keyOf, person, remove, typedInto } from "./unsaved.js";

const { gettext, interpolate } = window;
const form = document.querySelector("form[data-unsaved]");
const WAIT = 300;
const ANSWERS_WITHIN = 200;
const CAME_FROM = `unsaved-from:${form?.dataset.unsaved}`;

// Which of all copies is the one of this page.
const id = Date.now().toString(36) + Math.random().toString(36).slice(2, 10);

function setUp() {
  let { unsaved: about, saved: began } = form.dataset;
  const base = form.elements.base?.value ?? "";
  let key = keyOf(about, base, id);
  const now = () => JSON.stringify(typedInto(form));
  let atFirst = form.hasAttribute("data-typed") ? null : now();
  let waiting = null;

  function write() {
    clearTimeout(waiting);
    waiting = null;
    if (now() !== atFirst) return keep(key, { typed: typedInto(form), began });
    remove(key);
    return false;
  }
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(write, WAIT);
  };
  const atOnce = () => { if (waiting !== null) write(); };

  for (const kind of ["input", "change"]) document.addEventListener(kind, soon);
  document.addEventListener("visibilitychange", () => { if (document.hidden) atOnce(); });
  addEventListener("pagehide", atOnce);
  const forget = () => {
    clearTimeout(waiting);
    waiting = null;
    remove(key);
  };
  document.addEventListener("studio:signs-out", forget);
  document.querySelector("[data-drop]")?.addEventListener("click", forget);
  // What was typed since then belongs to the version that was saved.
  document.addEventListener("studio:saved", ({ detail }) => {
    forget();
    atFirst = JSON.stringify(detail.sent);
    key = keyOf(about, form.elements.base?.value ?? "", id);
    began = form.dataset.saved;
    write();
  });
  form.addEventListener("submit", (event) => {
    write();
    if (event.defaultPrevented) return; // it is saved in place
    const named = form.elements.copy ?? form.appendChild(document.createElement("input"));
    Object.assign(named, { type: "hidden", name: "copy", value: id });
    leaveWord(key);
  });

  // A page that shows what was typed on the one before takes over its copy.
  const before = takeWord();
  if (atFirst === null && write() && before) remove(before);

  answerForOwn(id);
  offer(about, base);
}

function leaveWord(key) {
  try {
    sessionStorage.setItem(CAME_FROM, key);
  } catch { /* then the older copy stays, too */ }
}

function takeWord() {
  try {
    const key = sessionStorage.getItem(CAME_FROM);
    sessionStorage.removeItem(CAME_FROM);
    return key;
  } catch {
    return null;
  }
}

// What another tab is typing at this moment is not offered here.

const channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("studio-unsaved");
const elsewhere = new Set();

function answerForOwn(own) {
  channel?.addEventListener("message", ({ data }) => {
    if (data.asks) channel.postMessage({ open: own });
    else if (data.open) elsewhere.add(data.open);
  });
  channel?.postMessage({ asks: true });
}

function offer(about, base) {
  if (!copiesOf(about).some((copy) => copy.id !== id)) return;
  setTimeout(() => {
    const shown = JSON.stringify(typedInto(form));
    const left = copiesOf(about).filter((copy) => copy.id !== id && !elsewhere.has(copy.id));
    for (const copy of left) {
      if (JSON.stringify(copy.typed) === shown) remove(copy.key);
      else show(copy, base);
    }
  }, ANSWERS_WITHIN);
}

function show(copy, base) {
  const place = document.getElementById("unsaved");
  const row = document.createElement("div");
  row.className = "notice notice-warning unsaved";
  const note = document.createElement("p");
  const title = Object.assign(document.createElement("strong"), { textContent: say(gettext("Unsaved text of %(moment)s."), copy) });
  note.append(title, ` ${since(copy, base)}`);
  const buttons = Object.assign(document.createElement("div"), { className: "row" });
  buttons.append(
    button(gettext("Restore"), gettext("Restore the text of %(moment)s"), "button button-small button-primary", copy, () => restore(copy)),
    button(gettext("Discard"), gettext("Discard the text of %(moment)s"), "button button-small", copy, () => {
      remove(copy.key);
      row.remove();
      (place.querySelector("button") ?? form.querySelector("input:not([type=hidden])")).focus();
    }),
  );
  row.append(note, buttons);
  place.append(row);
}

const say = (sentence, copy) => interpolate(sentence, { moment: momentOf(copy.at) }, true);

function button(name, label, className, copy, act) {
  const made = Object.assign(document.createElement("button"), { type: "button", className, textContent: name });
  made.setAttribute("aria-label", say(label, copy));
  made.addEventListener("click", act);
  return made;
}

function since(copy, base) {
  const { saved } = form.dataset;
  if (copy.base === base || !saved) return gettext("You typed it on this page, and it was never saved.");
  const names = { began: called(copy.began), saved: called(saved) };
  if (numberOf(saved) < numberOf(copy.began)) {
    return interpolate(gettext("It began with %(began)s, which is gone; %(saved)s is what was saved last."), names, true);
  }
  return interpolate(gettext("%(saved)s was saved since you began. Restoring shows what changed, and loses neither."), names, true);
}

// A copy keeps what a version is called in English; it may be read in another language.
const numberOf = (title) => Number(/^Version (\d+)$/.exec(title ?? "")?.[1]);
const called = (title) => (numberOf(title) ? interpolate(gettext("Version %s"), [numberOf(title)]) : title);

const { lang } = document.documentElement;
const LOCALE = lang === "en" ? "en-GB" : lang;

// A moment in the time zone of the page, in the form of all times of the page.
function momentOf(at) {
  const then = new Date(at);
  const timeZone = form.dataset.zone;
  const dateOf = (one, parts) => one.toLocaleDateString(LOCALE, { ...parts, timeZone });
  const time = then.toLocaleTimeString(LOCALE, { hour: "2-digit", minute: "2-digit", timeZone }) + (timeZone === "UTC" ? " UTC" : "");
  if (dateOf(then) === dateOf(new Date())) return time;
  const parts = { weekday: dateOf(then, { weekday: "short" }), day: dateOf(then, { day: "numeric", month: "long" }), time };
  return interpolate(gettext("%(weekday)s %(day)s, %(time)s"), parts, true);
}

// The server puts the text back into the form; nothing is saved by that.
function restore(copy) {
  const sent = Object.assign(document.createElement("form"), { method: "post", enctype: "multipart/form-data", hidden: true });
  const token = form.elements.csrfmiddlewaretoken.value;
  for (const [name, value] of [...copy.typed, ["then", "restore"], ["csrfmiddlewaretoken", token]]) {
    sent.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  }
  document.body.append(sent);
  leaveWord(copy.key);
  sent.submit();
}

if (form && person) setUp();
