// Stores a copy of what is typed into the form of this page, and offers the copies of earlier visits.

import { afterTyping, newId, offer, sendCopy } from "./copy-notice.js";
import { make } from "./elements.js";
import { copiesOf, keep, keyOf, person, remove, typedInto } from "./unsaved.js";

const { gettext, interpolate } = window;
const form = document.querySelector("form[data-unsaved]");

const id = newId();

function setUp() {
  let { unsaved: about, saved: began } = form.dataset;
  const base = form.elements.base?.value ?? "";
  let key = keyOf(about, base, id);
  const now = () => JSON.stringify(typedInto(form));
  let atFirst = form.hasAttribute("data-typed") ? null : now();

  function write() {
    if (now() !== atFirst) keep(key, { typed: typedInto(form), began });
    else remove(key);
  }
  const stop = afterTyping(document, write);
  const forget = () => {
    stop();
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
    if (!event.defaultPrevented) sendCopy(form, id); // otherwise it is saved in place
  });

  // A page that shows what was typed on the one before goes on with its copy, which may be of another version.
  if (atFirst === null) {
    write();
    const [newest, ...earlier] = copiesOf(about).filter((copy) => copy.id === id);
    if (newest?.key === key) for (const copy of earlier) remove(copy.key);
  }

  offer({
    about,
    id,
    shown: typedInto(form),
    place: document.getElementById("unsaved"),
    note: (copy) => since(copy, base),
    restore,
    after: form,
  });
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

// The server puts the text back into the form; nothing is saved by that.
function restore(copy) {
  const token = form.elements.csrfmiddlewaretoken.value;
  const fields = [...copy.typed, ["then", "restore"], ["copy", copy.id], ["csrfmiddlewaretoken", token]];
  const inputs = fields.map(([name, value]) => make("input", { type: "hidden", name, value }));
  const sent = make("form", { method: "post", enctype: "multipart/form-data", hidden: true }, ...inputs);
  document.body.append(sent);
  sent.submit();
}

if (form && person) setUp();
