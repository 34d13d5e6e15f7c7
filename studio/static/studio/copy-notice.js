// Offers copies of text that was typed and not saved: a notice for each, with a button that restores it.

import { make } from "./elements.js";
import { copiesOf, frame, remove } from "./unsaved.js";

const { gettext, interpolate } = window;
const ANSWERS_WITHIN = 200;
const WAIT = 300;

// Calls `write` after typing in `target`, before the page goes at the latest; returns what calls it off.
export function afterTyping(target, write) {
  let waiting = 0;
  const stop = () => {
    clearTimeout(waiting);
    waiting = 0;
  };
  const now = () => {
    stop();
    write();
  };
  const atOnce = () => { if (waiting) now(); };
  for (const kind of ["input", "change"]) {
    target.addEventListener(kind, () => {
      stop();
      waiting = setTimeout(now, WAIT);
    });
  }
  document.addEventListener("visibilitychange", () => { if (document.hidden) atOnce(); });
  addEventListener("pagehide", atOnce);
  return stop;
}

// Which of all copies is the one of this page. A page that answers a form goes on with the copy of that form.
export const newId = () => document.querySelector("meta[name=page-address]")?.dataset.copy ?? Date.now().toString(36) + Math.random().toString(36).slice(2, 10);

// Sends it along with a form.
export function sendCopy(form, value) {
  const named = form.elements.copy ?? form.appendChild(make("input"));
  Object.assign(named, { type: "hidden", name: "copy", value });
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

// `shown` is what the form holds, `note(copy)` a sentence, and `after` what has the focus once all are discarded.
export function offer({ about, id, shown, place, note, restore, after }) {
  answerForOwn(id);
  if (!copiesOf(about).some((copy) => copy.id !== id)) return;
  const now = JSON.stringify(shown);
  setTimeout(() => {
    for (const copy of copiesOf(about).filter((one) => one.id !== id && !elsewhere.has(one.id))) {
      if (JSON.stringify(copy.typed) === now) remove(copy.key);
      else show(copy, { place, note, restore, after });
    }
  }, ANSWERS_WITHIN);
}

function show(copy, { place, note, restore, after }) {
  const title = make("strong", { textContent: say(gettext("Unsaved text from %(moment)s."), copy) });
  const row = make("div", { className: "notice notice-warning unsaved" }, make("p", {}, title, ` ${note(copy)}`), make(
    "div",
    { className: "row" },
    button(gettext("Restore"), gettext("Restore the text of %(moment)s"), "button button-small button-primary", copy, () => restore(copy, row)),
    button(gettext("Discard"), gettext("Discard the text of %(moment)s"), "button button-small", copy, () => {
      remove(copy.key);
      row.remove();
      (place.querySelector("button") ?? after.querySelector("input:not([type=hidden]), textarea")).focus();
    }),
  ));
  place.append(row);
}

const say = (sentence, copy) => interpolate(sentence, { moment: momentOf(copy.at) }, true);

function button(name, label, className, copy, act) {
  const made = make("button", { type: "button", className, textContent: name });
  made.setAttribute("aria-label", say(label, copy));
  made.addEventListener("click", act);
  return made;
}

const { lang } = document.documentElement;
const LOCALE = lang === "en" ? "en-GB" : lang;

// A moment in the time zone of the page, in the form of all times of the page.
function momentOf(at) {
  const then = new Date(at);
  const timeZone = frame.zone;
  const dateOf = (one, parts) => one.toLocaleDateString(LOCALE, { ...parts, timeZone });
  const time = then.toLocaleTimeString(LOCALE, { hour: "2-digit", minute: "2-digit", timeZone }) + (timeZone === "UTC" ? " UTC" : "");
  if (dateOf(then) === dateOf(new Date())) return time;
  const parts = { weekday: dateOf(then, { weekday: "short" }), day: dateOf(then, { day: "numeric", month: "long" }), time };
  return interpolate(gettext("%(weekday)s %(day)s, %(time)s"), parts, true);
}
