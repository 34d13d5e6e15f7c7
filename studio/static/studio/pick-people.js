// Who is picked joins the checkboxes of those who were chosen, and the field is there for the next.

import "./combobox.js";

const { gettext, interpolate } = window;

document.addEventListener("studio:picked", ({ target, detail: { choice } }) => {
  if (!("adds" in target.dataset)) return;
  const input = target.querySelector("input");
  const list = target.parentElement.querySelector("[data-people]");
  const boxes = [...list.querySelectorAll("input[type=checkbox]")];
  let box = boxes.find((one) => one.value === choice.id);
  if (!box) {
    box = Object.assign(document.createElement("input"), { type: "checkbox", name: input.name, value: choice.id });
    const label = Object.assign(document.createElement("label"), { className: "check review-person" });
    const said = document.createElement("span");
    said.append(choice.name || choice.id, " ", Object.assign(document.createElement("span"), { className: "soft", textContent: choice.preview }));
    label.append(box, " ", said);
    list.append(label);
  }
  box.checked = true;
  box.scrollIntoView({ block: "nearest" });
  input.value = "";
  target.querySelector("[data-added]").textContent = interpolate(gettext("%s is chosen."), [choice.name || choice.id]);
});
