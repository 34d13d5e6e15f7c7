// A preview that follows what is typed: the newest answer counts, and nothing flickers while one waits for it.

import { lost } from "./connection.js";
import { parsed, renewChangedFields, renewFields } from "./context-form.js";
import { whoIsSignedIn } from "./session.js";

const { gettext, interpolate } = window;
const LEAST = 300;
const FORBIDDEN = 403;

// `ask(action, signal)` fetches what is to be shown; `form` holds the context.
export function livePreview(form, ask) {
  const result = document.getElementById("preview-result");
  const status = document.getElementById("preview-status");
  let timer = null;
  let isMissing = false; // because there was no answer
  let asking = null;
  let took = 0;

  async function show(action = "show") {
    clearTimeout(timer);
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    result.setAttribute("aria-busy", "true");
    const began = performance.now();
    isMissing = false;
    try {
      const answer = await ask(action, mine.signal).catch((error) => { throw mine.signal.aborted ? error : unanswered(); });
      // Without a session the answer is a redirect to the sign-in page, or the token is refused.
      if (answer.status === FORBIDDEN && (await whoIsSignedIn())) throw new Error(gettext("You no longer have access to this preview."));
      if (answer.redirected || answer.status === FORBIDDEN) throw missing(gettext("Sign in to see the preview."));
      if (![200, 400, 409].includes(answer.status)) {
        throw new Error(interpolate(gettext("There is no preview: the server answers %(status)s."), { status: answer.status }, true));
      }
      const fresh = parsed(await answer.text());
      took = performance.now() - began;
      put(fresh);
      if (action === "show") renewChangedFields(form, fresh);
      else renewFields(form, fresh);
    } catch (error) {
      if (mine.signal.aborted) return;
      status.textContent = error.message;
      status.className = "error";
    }
    if (asking === mine) result.removeAttribute("aria-busy");
  }

  // What is asked for again as soon as there may be an answer.
  function missing(text) {
    isMissing = true;
    return new Error(text);
  }

  function unanswered() {
    lost();
    return missing(gettext("There is no preview: the service does not answer."));
  }

  for (const back of ["studio:answers", "studio:signed-in"]) document.addEventListener(back, () => { if (isMissing) show(); });

  function put(fresh) {
    const [refused, assembled] = ["[data-refused]", "[data-assembled]"].map((part) => fresh.querySelector(part));
    // What cannot be assembled at this moment leaves what was shown before.
    const isRefused = refused.childElementCount > 0;
    const isShown = result.querySelector("[data-assembled]").childElementCount > 0;
    refused.querySelector("[data-earlier]")?.toggleAttribute("hidden", !isShown);
    replace("[data-refused]", refused);
    if (!isRefused) replace("[data-assembled]", assembled);
    const head = fresh.querySelector("[data-preview-head]");
    if (head) document.querySelector("[data-preview-head]").replaceWith(head);
    result.classList.toggle("stale", isRefused);
    status.className = "unseen";
    status.textContent = isRefused ? gettext("This cannot be previewed.") : gettext("The preview is up to date.");
  }

  function replace(part, fresh) {
    const now = result.querySelector(part);
    if (now.innerHTML === fresh.innerHTML) return;
    const scrolled = now.querySelector("pre")?.scrollTop ?? 0;
    now.replaceWith(fresh);
    const text = fresh.querySelector("pre");
    if (text) text.scrollTop = scrolled;
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(show, Math.max(LEAST, 2 * took));
  }

  return { show, later };
}
