// A star is set without loading the page anew. Without this module its button sends a form.

const form = document.getElementById("post");

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.star");
  if (!button || !form) return;
  event.preventDefault();
  const sent = new FormData(form);
  sent.set("starred", button.value);
  try {
    const answer = await fetch(button.formAction, { method: "POST", body: sent, headers: { Accept: "application/json" }, redirect: "error" });
    if (!answer.ok) throw new Error(`The server answers ${answer.status}.`);
    show(button.formAction, (await answer.json()).starred);
  } catch {
    form.requestSubmit(button); // the page that follows says what is wrong, or how to sign in again
  }
});

// One resource may have its star in several places of a page.
function show(address, isSet) {
  for (const button of document.querySelectorAll("button.star")) {
    if (button.formAction !== address) continue;
    button.setAttribute("aria-pressed", isSet ? "true" : "false");
    button.value = isSet ? "no" : "yes";
  }
}
