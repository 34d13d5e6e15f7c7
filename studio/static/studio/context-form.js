// The fields of a context: what the server answers takes their place, and what is being typed stays.

const fieldsIn = (root) => root.querySelector("[data-context]");

export function parsed(html) {
  return new DOMParser().parseFromString(html, "text/html");
}

// The server has escaped what was typed; this is its own markup. What was unfolded stays so, except for
// what has just been done.
export function renewFields(form, fresh) {
  const [now, then] = [fieldsIn(form), fieldsIn(fresh)];
  if (now && then) put(now, then, focusedIn(now), ".context-rest");
}

const focusedIn = (root) => (root.contains(document.activeElement) ? document.activeElement : null);
const sameAs = (element, root) => (element.id ? root.querySelector(`#${CSS.escape(element.id)}`) : null);

function put(now, then, focused, unfolded) {
  const open = [...now.querySelectorAll(unfolded)].some((one) => one.open);
  now.replaceWith(then);
  for (const one of open ? then.querySelectorAll(unfolded) : []) one.open = true;
  remember(then);
  if (!focused) return;
  const same = sameAs(focused, then);
  (same?.checkVisibility() ? same : then.querySelector("[data-example]"))?.focus();
}

// The example that was chosen last is chosen again on the other pages of the resource, in this tab.
const CHOSEN = `example:${location.pathname.replace(/[^/]*\/$/, "")}`;

function remember(root) {
  try {
    sessionStorage.setItem(CHOSEN, root.querySelector("[data-example]")?.value ?? "");
  } catch { /* then one chooses again */ }
}

// Chooses it; says whether it is another one, which is to be loaded then.
export function recallExample(form) {
  const choice = form.querySelector("[data-example]");
  let chosen = "";
  try {
    chosen = sessionStorage.getItem(CHOSEN) ?? "";
  } catch { /* as if none had been chosen */ }
  if (!choice || choice.value || !chosen) return false;
  choice.value = chosen;
  // One that has been deleted leaves nothing selected.
  if (choice.value !== chosen) choice.value = "";
  return choice.value !== "";
}

// While one types, the fields are renewed only if some have come or gone. The one that is typed into stays the
// element that it is, with its text and caret; if it is among those that are gone, everything waits for it.
export function renewChangedFields(form, fresh) {
  const [now, then] = [fieldsIn(form), fieldsIn(fresh)];
  if (!then || now.dataset.fields === then.dataset.fields) return;
  const focused = focusedIn(now);
  const same = focused && sameAs(focused, then);
  if (focused && same?.type !== focused.type) return;
  const { selectionStart: start, selectionEnd: end } = focused ?? {};
  same?.replaceWith(focused);
  put(now, then, focused, "details");
  if (typeof start === "number") focused.setSelectionRange(start, end);
}

// Calls `send(action)` for what one asks of examples: `load` for another one, or what a button says.
export function onExamples(form, send) {
  form.addEventListener("change", (event) => {
    if (event.target.matches("[data-example]")) send("load");
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    // Enter in the name of an example means to save it under that name.
    const isName = document.activeElement?.name === "example_name";
    const action = event.submitter?.value ?? "show";
    send(action === "show" && isName ? "save_as" : action);
  });
}
