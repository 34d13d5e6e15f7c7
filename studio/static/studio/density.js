// The density of a page changes at once, and without leaving it; the server remembers it.

const { gettext } = window;
const form = document.querySelector("form.density");

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const chosen = event.submitter.value;
  const buttons = [...form.querySelectorAll("button[name=density]")];
  for (const button of buttons) {
    document.documentElement.classList.toggle(button.value, button.value === chosen);
    button.setAttribute("aria-pressed", String(button.value === chosen));
  }
  const { say } = await import("./messages.js");
  try {
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form, event.submitter), redirect: "manual" });
    if (answer.type !== "opaqueredirect" && !answer.ok) throw new Error(String(answer.status));
  } catch {
    say(gettext("The density could not be saved: it lasts until you leave this page."), "warning");
  }
});
