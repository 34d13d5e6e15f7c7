// While the service does not answer, a banner says so; it goes by itself when the service answers again.

import { make } from "./elements.js";
import { put } from "./messages.js";

const { gettext } = window;
const frame = document.querySelector("form[data-person]");
const EVERY = 3000;
const AT_MOST = 15_000;
const PATIENCE = 10_000;

let banner = null;
let isAsking = false;
let timer = null;
let wait = EVERY;

// Somebody got no answer: if there is none for this either, it says so and asks until there is one.
export async function lost() {
  if (isAsking || banner || !frame) return;
  isAsking = true;
  if (!(await answers())) show();
  isAsking = false;
}

function show() {
  const textContent = navigator.onLine
    ? gettext("The service does not answer. What you type stays on the page; this goes away when it answers again.")
    : gettext("You are offline. What you type stays on the page; this goes away when you are back.");
  banner = put("warning", [make("p", { textContent })]);
  banner.dataset.connection = "";
  wait = EVERY;
  timer = setTimeout(look, wait);
}

async function look() {
  clearTimeout(timer);
  if (await answers()) {
    banner?.remove();
    banner = null;
    document.dispatchEvent(new Event("studio:answers"));
  } else if (banner) {
    wait = Math.min(wait * 1.5, AT_MOST);
    timer = setTimeout(look, wait);
  }
}

async function answers() {
  try {
    const { type, status } = await fetch(frame.dataset.session, { redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
    return type === "opaqueredirect" || status < 500;
  } catch {
    return false;
  }
}

addEventListener("offline", lost);
addEventListener("online", () => { if (banner) look(); });
document.addEventListener("visibilitychange", () => { if (banner && !document.hidden) look(); });
