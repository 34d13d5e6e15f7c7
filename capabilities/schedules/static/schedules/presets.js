// Buttons that fill in a time that is often chosen.

for (const group of document.querySelectorAll("[data-fills]")) {
  const field = document.getElementById(group.dataset.fills);
  group.hidden = false;
  group.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    field.value = button.value;
    for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
  });
}
