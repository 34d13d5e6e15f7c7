// Suggestions for ids of prompt blocks and agents, and what was chosen: its name, and of a block its text.

const { gettext } = window;
const form = document.getElementById("edit-form");
const WAIT = 150;
let waiting;

async function choices(of, text) {
  const answer = await fetch(`${form.dataset.choices}?${new URLSearchParams({ of, q: text })}`);
  return answer.ok && !answer.redirected ? (await answer.json()).choices : [];
}

function tell(pick, found, text) {
  const note = pick.querySelector("[data-picked]");
  const chosen = found.find((one) => one.id === text);
  note.replaceChildren();
  if (chosen && pick.dataset.pick === "prompt") show(pick, text, note);
  else if (chosen) {
    const link = Object.assign(document.createElement("a"), { href: chosen.address, target: "_blank", rel: "noopener", textContent: chosen.name });
    const chip = Object.assign(document.createElement("span"), { className: `chip ${chosen.chip}`, textContent: chosen.state });
    note.append(link, " ", chip);
  } else if (text && !found.length) note.textContent = gettext("There is nothing like this that you can read.");
}

// The card of a prompt block says what it is; the server writes it, and has escaped whatever was typed.
async function show(pick, id, note) {
  const card = pick.closest("[data-row]");
  if (card.dataset.shows === id) return;
  const answer = await fetch(`${form.dataset.reference}?${new URLSearchParams({ id })}`);
  if (!answer.ok || answer.redirected || pick.querySelector("input").value.trim() !== id) return;
  const parts = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of parts.querySelectorAll("[data-part]")) card.querySelector(`[data-part="${part.dataset.part}"]`)?.replaceWith(part);
  card.dataset.shows = id;
  note.textContent = card.querySelector(".block-title").textContent;
}

async function suggest(input) {
  const pick = input.closest("[data-pick]");
  const text = input.value.trim();
  const found = await choices(pick.dataset.pick, text);
  if (input.value.trim() !== text) return;
  const options = found.map((one) => Object.assign(document.createElement("option"), { value: one.id, label: `${one.name} (${one.state})` }));
  pick.querySelector("datalist").replaceChildren(...options);
  tell(pick, found, text);
}

for (const kind of ["input", "focusin"]) {
  document.addEventListener(kind, (event) => {
    if (!event.target.matches("[data-pick] input")) return;
    clearTimeout(waiting);
    waiting = setTimeout(suggest, kind === "input" ? WAIT : 0, event.target);
  });
}
