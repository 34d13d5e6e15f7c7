// Signing in again in a dialog over the page, which keeps all that was typed. Only the person of the page goes on
// from here: what one person typed is not sent as another's. The dialog shows what the pages for signing in mark with
// `data-sign-in-step`, one step after the other; all other pages open in another tab.

import { make } from "./elements.js";

const { gettext, interpolate } = window;
const frame = document.querySelector("form[data-person]");
const PATIENCE = 10_000;

let asking = null; // one dialog for all callers

// Returns the session once the person of the page is signed in again; null if they close the dialog.
export function signInAgain(whoIsSignedIn, isOfThePage) {
  asking ??= ask(whoIsSignedIn, isOfThePage).finally(() => { asking = null; });
  return asking;
}

async function ask(whoIsSignedIn, isOfThePage) {
  const answer = await fetch(frame.dataset.signIn, { redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
  if (answer.type === "opaqueredirect") return whoIsSignedIn(); // somebody has signed in in another tab
  const first = await stepOf(answer);
  // Where it ends: at the session.
  first.address = `${frame.dataset.signIn}?${new URLSearchParams({ next: frame.dataset.session })}`;
  const dialog = opened();
  await show(dialog, first);
  let comesBack;
  const session = await new Promise((resolve) => {
    const judge = (found) => {
      if (found && isOfThePage(found)) resolve(found);
      else if (found) refuse(dialog, first, found);
    };
    comesBack = () => whoIsSignedIn().then(judge).catch(() => {}); // from another tab
    window.addEventListener("focus", comesBack);
    dialog.addEventListener("close", () => resolve(null));
    dialog.addEventListener("submit", (event) => {
      event.preventDefault();
      attempt(dialog, event.target).then(judge);
    });
  });
  window.removeEventListener("focus", comesBack);
  dialog.close(); // and the focus is where it was
  dialog.remove();
  if (session) document.dispatchEvent(new Event("studio:signed-in"));
  return session;
}

// A page for signing in: its parts, with the names and errors of their fields, and what prepares them.
async function stepOf(answer) {
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const parts = [...page.querySelectorAll("[data-sign-in-step]:not(script)")];
  if (!parts.length && !answer.ok) throw new Error(`The server answers ${answer.status}.`);
  return {
    address: answer.url,
    parts: parts.length ? parts : [elsewhere(answer.url)],
    scripts: [...page.querySelectorAll("script[data-sign-in-step]")].map((script) => script.src),
    problem: page.querySelector(".notice-error")?.textContent ?? "",
  };
}

function elsewhere(address) {
  const link = make("a", { className: "button button-primary wide", href: address, textContent: gettext("Continue in another tab") });
  return make("div", {}, link);
}

function opened() {
  const dialog = make("dialog", { className: "dialog" });
  dialog.setAttribute("aria-labelledby", "sign-in-again");
  const title = make("h2", { id: "sign-in-again", textContent: gettext("You are signed out") });
  const why = make("p", { textContent: interpolate(gettext("Sign in again as %(name)s, and it goes on from here. What you typed is still on the page."), frame.dataset, true) });
  const problem = make("p", { className: "notice notice-error", hidden: true });
  problem.setAttribute("role", "alert");
  const step = make("div", { className: "stack" });
  const later = make("button", { type: "button", className: "button button-quiet wide", textContent: gettext("Cancel") });
  later.addEventListener("click", () => dialog.close());
  dialog.append(title, why, problem, step, later);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

async function show(dialog, { address, parts, scripts, problem }) {
  dialog.dataset.address = address;
  for (const part of parts) part.classList.remove("card"); // in the dialog it is none of its own
  dialog.querySelector(".stack").replaceChildren(...parts);
  for (const link of dialog.querySelectorAll("a")) link.target = "_blank";
  const name = dialog.querySelector("input[name=username]");
  if (name && !name.value) name.value = frame.dataset.name;
  for (const script of scripts) (await import(script)).prepare(dialog);
  dialog.querySelector("input[type=password], input[autocomplete=one-time-code], a")?.focus();
  tell(dialog, problem);
}

// Sends a step; returns the session after the last one, and shows the next one otherwise.
async function attempt(dialog, form) {
  try {
    const answer = await fetch(dialog.dataset.address, { method: "POST", body: new FormData(form), signal: AbortSignal.timeout(PATIENCE) });
    if (answer.headers.get("Content-Type")?.startsWith("application/json")) return await answer.json();
    await show(dialog, await stepOf(answer));
  } catch {
    tell(dialog, gettext("The service cannot be reached. Try again in a moment."));
  }
  return null;
}

async function refuse(dialog, first, session) {
  await show(dialog, first);
  for (const token of dialog.querySelectorAll("input[name=csrfmiddlewaretoken]")) token.value = session.token;
  const names = { other: session.name, name: frame.dataset.name };
  tell(dialog, interpolate(gettext("%(other)s is now signed in, but this page is %(name)s’s. Nothing was sent. Sign in as %(name)s to go on."), names, true));
}

function tell(dialog, text) {
  const problem = dialog.querySelector("[role=alert]");
  problem.hidden = !text;
  problem.textContent = text;
}
