// What every page does: menus close when one looks elsewhere; messages can be put away; rows of links fit, and
// tables say that there is more of them; forms are sent once; copies of unsaved text go in time.

import "./density.js";
import "./messages.js";
import "./rows.js";
import "./sending.js";
import "./shortcuts.js";
import { everyKeyOfThePerson, remove, tidy } from "./unsaved.js";

const { gettext } = window;

tidy();

// A page that answers a form takes the place of the page itself in the browser's history: going back to it asks
// for that page, with the copy of what was typed, and does not send the form a second time.
const address = document.querySelector("meta[name=page-address]")?.content;
if (address) history.replaceState(history.state, "", address);

// Others may use this browser after somebody has signed out.
document.querySelector("form[data-person]")?.addEventListener("submit", (event) => {
  const copies = everyKeyOfThePerson();
  const text = gettext("This browser keeps text that you typed and did not save. Signing out throws it away. Sign out?");
  if (copies.length && !confirm(text)) {
    event.preventDefault();
    return;
  }
  document.dispatchEvent(new Event("studio:signs-out"));
  copies.forEach(remove);
});

// On a narrow screen a table may not fit: it scrolls, and its edges fade where there is more.
for (const row of document.querySelectorAll("[data-scrolls]")) {
  const tell = () => {
    const before = row.scrollLeft > 1;
    const after = row.scrollLeft + row.clientWidth < row.scrollWidth - 1;
    row.dataset.more = before && after ? "both" : before ? "start" : after ? "end" : "";
  };
  row.addEventListener("scroll", tell, { passive: true });
  new ResizeObserver(tell).observe(row);
}

// What sticks to the lower edge covers neither a message nor what has the focus.
const dock = document.querySelector(".dock");
if (dock) {
  const measure = () => {
    const height = getComputedStyle(dock).position === "fixed" ? dock.offsetHeight : 0;
    document.documentElement.style.setProperty("--dock", `${height}px`);
  };
  new ResizeObserver(measure).observe(dock);
  addEventListener("resize", measure);
}

// A name that a menu asks for is selected when the menu opens: typing replaces it.
document.addEventListener("click", (event) => {
  const asks = event.target.closest("[data-asks] > summary")?.parentElement;
  if (!asks || asks.open) return; // it is about to be opened, or closed
  const input = asks.querySelector("input.input");
  setTimeout(() => { input.focus(); input.select(); });
});

// A menu that would end below the window opens upwards, if there is room for it.
document.addEventListener("toggle", (event) => {
  const list = event.target.matches?.("details.menu[open]") && event.target.querySelector(".menu-list");
  if (!list) return;
  event.target.classList.remove("menu-up");
  const { top } = event.target.getBoundingClientRect();
  const { bottom, height } = list.getBoundingClientRect();
  event.target.classList.toggle("menu-up", bottom > innerHeight && height < top);
}, true); // toggle does not bubble

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
