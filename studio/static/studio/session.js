// Whether a form of this page can be sent: the service answers, and the person of the page is still the one who
// is signed in. Who is signed out meanwhile signs in again over the page (`sign-in-again.js`).

import { lost } from "./connection.js";
import { signInAgain } from "./sign-in-again.js";

const { gettext, interpolate } = window;
const frame = document.querySelector("form[data-person]");
const PATIENCE = 10_000;

export const SIGNED_OUT = gettext("You are signed out, so nothing was saved or changed. What you typed is still here.");

// Says who is signed in: nobody is null. Throws if there is no answer.
export async function whoIsSignedIn() {
  const answer = await fetch(frame.dataset.session, { redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
  if (answer.type === "opaqueredirect") return null; // to where one signs in
  if (!answer.ok) throw new Error(`The server answers ${answer.status}.`);
  return answer.json();
}

export const isOfThePage = (session) => String(session.person) === frame.dataset.person;

// Returns why no form can be sent, in a sentence; null if one can.
export async function problem() {
  let session;
  try {
    session = (await whoIsSignedIn()) ?? (await signInAgain(whoIsSignedIn, isOfThePage));
  } catch {
    lost();
    return gettext("The service cannot be reached, so nothing was saved or changed. What you typed is still here.");
  }
  if (!session) return SIGNED_OUT;
  if (!isOfThePage(session)) {
    return interpolate(gettext("%(name)s is now signed in in this browser, so nothing was saved or changed. What you typed is still here."), session, true);
  }
  // Signing in again has made the tokens of this page invalid.
  for (const token of document.querySelectorAll("input[name=csrfmiddlewaretoken]")) token.value = session.token;
  return null;
}
