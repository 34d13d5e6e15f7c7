// Who is picked joins the checkboxes of those who were chosen, and the field is there for the next.

import "./combobox.js";
import { make } from "./elements.js";

const { gettext, interpolate } = window;

document.addEventListener("studio:picked", ({ target, detail: { choice } }) => {
  if (!("adds" in target.dataset)) return;
  const input = target.querySelector("input");
  const list = target.parentElement.querySelector("[data-people]");
  const boxes = [...list.querySelectorAll("input[type=checkbox]")];
  let box = boxes.find((one) => one.value === choice.id);
  if (!box) {
    box = make("input", { type: "checkbox", name: input.name, value: choice.id });
    const said = make("span", {}, choice.name || choice.id, " ", make("span", { className: "soft", textContent: choice.preview }));
    list.append(make("label", { className: "check review-person" }, box, " ", said));
  }
  box.checked = true;
  box.scrollIntoView({ block: "nearest" });
  input.value = "";
  target.querySelector("[data-added]").textContent = interpolate(gettext("%s is chosen."), [choice.name || choice.id]);
});
