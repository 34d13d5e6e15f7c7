// The preview next to the form: what is typed at this moment, assembled by the server.

import { onExamples, recallExample } from "./context-form.js";
import { livePreview } from "./live-preview.js";

const form = document.getElementById("edit-form");
const asking = document.getElementById("preview-form");

function typed(action) {
  const typed = new FormData(form);
  for (const [name, value] of new FormData(asking)) typed.set(name, value);
  typed.set("do", action);
  return typed;
}

if (asking) {
  const preview = livePreview(asking, (action, signal) =>
    fetch(asking.dataset.preview, { method: "POST", body: typed(action), signal }));
  onExamples(asking, preview.show);
  // Rows that come, go or move tell of it as a change.
  for (const kind of ["input", "change"]) {
    for (const one of [form, asking]) {
      one.addEventListener(kind, (event) => {
        if (!event.target.matches("[data-example], [name=example_name]")) preview.later();
      });
    }
  }
  if (recallExample(asking)) preview.show("load");
  else preview.later();
}
