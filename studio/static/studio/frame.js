// What every page does: menus close when one looks elsewhere; copies of unsaved text go in time.

import { everyKeyOfThePerson, remove, tidy } from "./unsaved.js";

tidy();

// Others may use this browser after somebody has signed out.
document.querySelector("form[data-person]")?.addEventListener("submit", (event) => {
  const copies = everyKeyOfThePerson();
  const text = "This browser keeps text that you typed and did not save. Signing out throws it away. Sign out?";
  if (copies.length && !confirm(text)) {
    event.preventDefault();
    return;
  }
  document.dispatchEvent(new Event("studio:signs-out"));
  copies.forEach(remove);
});

// On a narrow screen the tab of the page may be beyond the edge of the row.
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (menu !== except) menu.open = false;
  }
}

document.addEventListener("click", (event) => closeMenus(event.target.closest("details.menu")));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const open = document.querySelector("details.menu[open]");
  if (!open) return;
  open.open = false;
  open.querySelector("summary").focus();
});
