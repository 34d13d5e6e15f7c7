// The preview of what is saved, in the context that is filled in.

import { onExamples, recallExample } from "./context-form.js";
import { livePreview } from "./live-preview.js";

const form = document.getElementById("preview-form");

function filledIn(action) {
  const typed = new FormData(form);
  typed.set("do", action);
  typed.set("fragment", "");
  return typed;
}

const preview = livePreview(form, (action, signal) =>
  fetch(form.action, { method: "POST", body: filledIn(action), signal }));
onExamples(form, preview.show);
form.addEventListener("input", (event) => {
  if (!event.target.matches("[data-example], [name=example_name]")) preview.later();
});
// What the address or a button asks for counts.
if (!location.search && recallExample(form)) preview.show("load");
