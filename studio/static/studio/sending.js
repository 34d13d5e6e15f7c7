// A form is sent once, and only when the service answers and the same person is still signed in. Otherwise the
// page stays as it is, with all that was typed, and says why: a page of the browser's own, or one to sign in on,
// would take its place. Without this module forms are sent as browsers send them.

import { say } from "./messages.js";
import { problem } from "./session.js";

const frame = document.querySelector("form[data-person]");

let isSending = false; // from the click until the page goes, or stays after all
let isChecked = false;

const isAbout = (event) => {
  const method = event.submitter?.getAttribute("formmethod") ?? event.target.getAttribute("method") ?? "get";
  // Where nobody is signed in there is nobody to sign in again.
  return method.toLowerCase() === "post" && frame && event.target !== frame && !event.defaultPrevented;
};

// On the window, and so after all other listeners: some forms are sent by scripts of their own.
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
  problem().then((why) => {
    if (why) {
      isSending = false;
      document.dispatchEvent(new Event("studio:stays"));
      say(why, "error");
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
