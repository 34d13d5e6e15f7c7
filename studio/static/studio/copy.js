// Buttons that copy what stands in a field or in an example, where the browser lets them.

const { gettext } = window;
const textOf = (source) => source.value ?? source.textContent;

for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  source.addEventListener("focus", () => source.select?.());
  button.hidden = !navigator.clipboard;
}

// A page that renews itself has new buttons.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(textOf(document.getElementById(button.dataset.copy)));
  button.textContent = gettext("Copied");
});
