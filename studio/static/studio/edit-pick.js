// Suggestions for ids of prompt blocks and agents, and the name of the one that was chosen.

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
  if (chosen) {
    const link = Object.assign(document.createElement("a"), { href: chosen.address, target: "_blank", rel: "noopener", textContent: chosen.name });
    const chip = Object.assign(document.createElement("span"), { className: `chip ${chosen.chip}`, textContent: chosen.state });
    note.append(link, " ", chip);
  } else if (text && !found.length) note.textContent = "There is nothing like this that you can read.";
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
