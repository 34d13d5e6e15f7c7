// Says that this page is open, while one looks at it or leaving would ask, or closed; shows who else has it open.

const box = document.getElementById("present");
const form = document.getElementById("edit-form");
const EVERY = 20_000;
const PATIENCE = 10_000;

let timer = null;

const isTyped = () => !dispatchEvent(new Event("beforeunload", { cancelable: true }));
const peopleIn = (place) => place.querySelector("[data-present]")?.dataset.present ?? "";

async function beat() {
  clearTimeout(timer);
  if (!document.hidden || isTyped()) await tell().catch(() => {});
  timer = setTimeout(beat, EVERY);
}

async function tell() {
  const headers = { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value };
  const answer = await fetch(box.dataset.address, { method: "POST", headers, redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
  if (!answer.ok) return;
  const { body } = new DOMParser().parseFromString(await answer.text(), "text/html");
  const isNew = peopleIn(body) !== peopleIn(box);
  box.replaceChildren(...body.childNodes);
  // Read out is who came, not for how long.
  if (isNew) document.getElementById("announced").textContent = box.textContent.trim().replace(/\s+/g, " ") || window.gettext("No one else is editing this.");
}

addEventListener("pagehide", () => {
  const { value } = form.elements.csrfmiddlewaretoken;
  navigator.sendBeacon(box.dataset.address, new URLSearchParams({ csrfmiddlewaretoken: value, gone: "" }));
});
addEventListener("pageshow", ({ persisted }) => { if (persisted) beat(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden) beat(); });
beat();
