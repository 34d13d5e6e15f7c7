// What was picked on the edit page: of an agent its name and state, of a prompt block its text, too.

import "./combobox.js";
import { make } from "./elements.js";

const { gettext, interpolate } = window;
const form = document.getElementById("edit-form");
const NOTHING = {
  prompt: gettext("No prompt block matches “%s”."),
  agent: gettext("No agent matches “%s”."),
};

function tell(pick, found, text) {
  const note = pick.querySelector("[data-picked]");
  if (!note) return;
  const chosen = found.find((one) => one.id === text);
  if (chosen && pick.dataset.pick === "prompt") {
    show(pick, text, note); // which leaves what is there until then: nothing moves below a pressed button
    return;
  }
  note.replaceChildren();
  if (chosen) {
    const link = make("a", { href: chosen.address, target: "_blank", rel: "noopener", textContent: chosen.name, dir: "auto" });
    note.append(link, " ", make("span", { className: `chip ${chosen.chip}`, textContent: chosen.state }));
    if (chosen.preview) note.append(make("span", { className: "pick-preview", textContent: chosen.preview, dir: "auto" }));
  } else if (text && !found.length) note.textContent = interpolate(NOTHING[pick.dataset.pick], [text]);
}

// The card of a prompt block says what it is; the server writes it, and has escaped what was typed.
async function show(pick, id, note) {
  const card = pick.closest("[data-row]");
  if (card.dataset.shows !== id) {
    const answer = await fetch(`${form.dataset.reference}?${new URLSearchParams({ id })}`);
    if (pick.querySelector("input").value.trim() !== id) return;
    if (!answer.ok || answer.redirected) {
      note.replaceChildren();
      return;
    }
    const parts = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of parts.querySelectorAll("[data-part]")) card.querySelector(`[data-part="${part.dataset.part}"]`)?.replaceWith(part);
    card.dataset.shows = id;
  }
  note.textContent = card.querySelector(".block-title").textContent;
}

document.addEventListener("studio:picking", ({ target, detail: { found, text } }) => tell(target, found, text));
document.addEventListener("studio:picked", ({ target, detail: { choice, found } }) => tell(target, found, choice.id));
