// Says from time to time that this page is open, while somebody looks at it, and shows who else has it open.

const { gettext } = window;
const box = document.getElementById("present");
const form = document.getElementById("edit-form");
const EVERY = 20_000;
const PATIENCE = 10_000;

let timer = null;

const peopleIn = (place) => place.querySelector("[data-present]")?.dataset.present ?? "";

async function beat() {
  clearTimeout(timer);
  if (!document.hidden) await tell().catch(() => {}); // people who are away are shown as long as they are remembered
  timer = setTimeout(beat, EVERY);
}

async function tell() {
  const headers = { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value };
  const answer = await fetch(box.dataset.address, { method: "POST", headers, redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
  if (!answer.ok) return;
  const { body } = new DOMParser().parseFromString(await answer.text(), "text/html");
  const isNew = peopleIn(body) !== peopleIn(box);
  box.replaceChildren(...body.childNodes);
  // Who came is read out, and not every minute for how long.
  if (isNew) document.getElementById("announced").textContent = box.textContent.trim().replace(/\s+/g, " ") || gettext("No one else has this open any more.");
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) beat(); });
beat();
