// Saves the form of the edit page without leaving the page: it says what was saved, or why nothing was, and keeps
// all that is typed. Without this module the form is sent as browsers send it.

import { lost } from "./connection.js";
import { make, unfold } from "./elements.js";
import { put } from "./messages.js";
import { problem, SIGNED_OUT } from "./session.js";
import { typedInto } from "./unsaved.js";

const { gettext, interpolate } = window;
const form = document.getElementById("edit-form");
const state = document.querySelector("[data-saved-state]");
const PATIENCE = 60_000; // a long prompt on a slow line
const AWAY = 500;
const FORBIDDEN = 403;

let isSaving = false;
let isLeaving = false; // to a page that answers the form
let said = []; // the messages about the last attempt

form.addEventListener("submit", (event) => {
  if (isLeaving || event.submitter?.hasAttribute("data-to-page")) return;
  event.preventDefault();
  if (isSaving) return; // a second click would be a second version
  isSaving = true;
  const { submitter } = event;
  state.textContent = gettext("Saving…");
  save(submitter).catch((error) => notSaved(error.message, submitter)).finally(() => { isSaving = false; });
});
for (const [target, kind] of [[document, "studio:stays"], [window, "pageshow"]]) target.addEventListener(kind, () => { isLeaving = false; });

async function save(submitter) {
  said.forEach((message) => message.remove());
  said = [];
  const why = await problem();
  if (why) throw new Error(why);
  const body = new FormData(form, submitter);
  const sent = typedInto(form);
  const answer = await post(body);
  const told = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : null;
  if (answer.ok && told) saved(told, sent);
  else if (told?.conflict) toPage(submitter);
  else if (told?.errors) refused(told);
  else if (told?.problems && answer.status === FORBIDDEN) forbidden(told.problems);
  else throw new Error(told?.problems?.join(" ") ?? unexpected(answer));
}

async function post(body) {
  try {
    const headers = { Accept: "application/json" };
    return await fetch(location.href, { method: "POST", body, headers, redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
  } catch {
    lost();
    throw new Error(gettext("There was no answer, so this may not have been saved. What you typed is still here; saving again creates no second version."));
  }
}

// A page of errors, or the way to where one signs in: the session has ended a moment ago.
function unexpected(answer) {
  if (answer.type === "opaqueredirect") return SIGNED_OUT;
  if (answer.status >= AWAY) lost();
  return interpolate(gettext("Not saved: the server answered %s. What you typed is still here."), [answer.status]);
}

function notSaved(text, submitter) {
  const again = make("button", { type: "button", className: "link", textContent: gettext("Save again") });
  again.addEventListener("click", () => form.requestSubmit(submitter?.isConnected ? submitter : null));
  stays(make("p", {}, `${text} `, again));
}

// Their rights have changed: saving again would not help, but the text is theirs.
function forbidden(problems) {
  const rescue = gettext("What you typed is still on this page, and kept in this browser: copy what you need before you leave.");
  const lines = [...problems, rescue].map((text) => make("p", { textContent: text }));
  stays(make("div", {}, ...lines));
}

// The form is as it was; who listens may say so.
function stays(why) {
  said = [put("error", [why])];
  document.dispatchEvent(new Event("studio:stays"));
}

// What both have changed is a page of its own, with this form on top of what was saved.
function toPage(submitter) {
  isLeaving = true;
  form.requestSubmit(submitter);
}

// What was wrong before may be right by now.
function clearErrors(told) {
  for (const place of document.querySelectorAll("[data-errors]:not([hidden])")) {
    place.replaceChildren();
    place.hidden = true;
  }
  for (const control of form.elements) {
    if (control.getAttribute("aria-describedby")?.startsWith("error-")) control.removeAttribute("aria-describedby");
    control.removeAttribute("aria-invalid");
  }
  for (const notice of document.querySelectorAll(told)) notice.remove();
}

function refused({ errors, problems }) {
  clearErrors(".notice-error[data-until-saved]");
  const unplaced = [...problems];
  let first = null;
  for (const [name, texts] of Object.entries(errors)) {
    const place = document.getElementById(`error-${name}`);
    if (!place) unplaced.push(...texts);
    if (place) place.hidden = false;
    unfold(place);
    place?.replaceChildren(...texts.map((text) => make("p", { className: "error", textContent: text })));
    first ??= mark(name) ?? place;
  }
  const words = make("p", { textContent: gettext("Not saved yet. The problems are named beside the fields; everything you typed is still here.") });
  const lines = unplaced.map((text) => make("p", { textContent: text }));
  stays(make("div", {}, words, ...lines));
  first?.focus();
  first?.scrollIntoView({ block: "center" });
}

// The control that is wrong, described by what is said of it.
function mark(name) {
  const control = document.getElementById(`in-${name}`);
  if (!control) return null;
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", `error-${name}`);
  return control;
}

function saved(told, sent) {
  clearErrors("[data-until-saved]");
  if (told.messages) goOn(told, sent);
  else {
    document.dispatchEvent(new CustomEvent("studio:saved", { detail: { sent } }));
    location.assign(told.next);
  }
}

// The form goes on from what was saved; what was typed meanwhile is not saved yet.
function goOn({ messages, tag, base, title, news, source }, sent) {
  const were = Object.fromEntries(sent);
  const now = { tag, base, metadataBefore: were.metadata, tagsBefore: were.tags };
  for (const [name, value] of Object.entries(now)) if (form.elements[name]) form.elements[name].value = value;
  const { changeMessage } = form.elements;
  if (changeMessage?.value === were.changeMessage) changeMessage.value = "";
  form.dataset.saved = title;
  form.removeAttribute("data-typed");
  const renewed = { ...now, changeMessage: "" };
  const detail = { sent: sent.map(([name, value]) => [name, renewed[name] ?? value]), news, source };
  document.dispatchEvent(new CustomEvent("studio:saved", { detail }));
  // The server has escaped what people wrote; this is its own markup.
  const nodes = (html) => new DOMParser().parseFromString(html, "text/html").body.childNodes;
  said = messages.map(({ level, html }) => put(level, [make("p", {}, ...nodes(html))]));
}
