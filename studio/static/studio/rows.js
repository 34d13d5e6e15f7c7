// A row of links (`data-links`) ends in a menu of those for which there is no place: on a narrow screen, of more.

const ROUNDED = 1; // widths are

function fit(row) {
  const menu = row.querySelector(":scope > .row-more");
  const list = menu.querySelector(".menu-list");
  for (const link of list.querySelectorAll("[data-moved]")) {
    link.removeAttribute("data-moved");
    menu.before(link);
  }
  menu.hidden = list.children.length === 0;
  tell(menu, list);
  const links = [...row.querySelectorAll(":scope > a")];
  while (row.scrollWidth > row.clientWidth + ROUNDED && links.length > 1) {
    const link = links.pop();
    link.dataset.moved = "";
    list.prepend(link);
    menu.hidden = false;
    tell(menu, list);
  }
}

// The menu is called like the page itself if that is in it, and says how much waits there; else, in all of it.
function tell(menu, list) {
  const summary = menu.querySelector("summary");
  const title = summary.querySelector("[data-title]");
  const number = summary.querySelector(".tab-count");
  const current = list.querySelector("[aria-current]");
  title.textContent = current ? current.firstChild.textContent.trim() : title.dataset.title;
  if (current) summary.setAttribute("aria-current", "page");
  else summary.removeAttribute("aria-current");
  const counts = [...(current ?? list).querySelectorAll(".tab-count")].map((count) => Number(count.textContent));
  const waiting = counts.reduce((sum, count) => sum + count, 0);
  number.textContent = waiting;
  number.hidden = waiting === 0;
}

for (const row of document.querySelectorAll("[data-links]")) {
  new ResizeObserver(() => fit(row)).observe(row.parentElement);
  row.addEventListener("studio:renewed", () => fit(row));
  document.fonts.ready.then(() => fit(row));
  fit(row);
}
