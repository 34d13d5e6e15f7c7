// A form is sent once, and only when the service answers and the same person is still signed in. Otherwise the
// page stays as it is, with all that was typed, and says why: a page of the browser's own, or one to sign in on,
// would take its place. Without this module forms are sent as browsers send them.

import { say } from "./messages.js";

const { gettext } = window;
const frame = document.querySelector("form[data-person]");
const PATIENCE = 10_000;

let isSending = false; // from the click until the page goes, or stays after all
let isChecked = false;

const isAbout = (event) => {
  const method = event.submitter?.getAttribute("formmethod") ?? event.target.getAttribute("method") ?? "get";
  // Where nobody is signed in there is nobody to sign in again.
  return method.toLowerCase() === "post" && frame && event.target !== frame && !event.defaultPrevented;
};

// On the window, and so after whatever else listens: some forms are sent by scripts of their own.
addEventListener("submit", (event) => {
  if (!isAbout(event)) return;
  if (isChecked) {
    isChecked = false;
    return;
  }
  event.preventDefault();
  if (isSending) return; // a second click would be a second change
  isSending = true;
  const { target: form, submitter } = event;
  problem().then((found) => {
    if (found) {
      isSending = false;
      document.dispatchEvent(new Event("studio:stays"));
      say(found.text, "error", found.link);
      return;
    }
    isChecked = true;
    form.requestSubmit(submitter);
    isSending = !isChecked; // a field that the browser refuses keeps the form from being sent
    isChecked = false;
  });
});

// With the browser's button one comes back to a page from which a form was sent.
addEventListener("pageshow", () => { isSending = false; });

// Returns what is wrong, with a link that helps; nothing if the form can be sent.
async function problem() {
  let session;
  try {
    session = await whoIsSignedIn();
  } catch {
    return { text: gettext("The service cannot be reached, so nothing was saved or changed. What you typed is still here: try again in a moment.") };
  }
  if (!session) {
    return {
      text: gettext("You are signed out, so nothing was saved or changed. What you typed is still here: sign in again in a new tab, then come back to this one."),
      link: { name: gettext("Sign in in a new tab"), address: frame.dataset.signIn },
    };
  }
  if (String(session.person) !== frame.dataset.person) {
    return { text: gettext("Somebody else is signed in in this browser by now, so nothing was saved or changed. What you typed is still here.") };
  }
  // Signing in again has made the tokens of this page invalid.
  for (const token of document.querySelectorAll("input[name=csrfmiddlewaretoken]")) token.value = session.token;
  return null;
}

async function whoIsSignedIn() {
  const answer = await fetch(frame.dataset.session, { redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
  if (answer.type === "opaqueredirect") return null; // to where one signs in
  if (!answer.ok) throw new Error(`The server answers ${answer.status}.`);
  return answer.json();
}
