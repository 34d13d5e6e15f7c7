// A row of links (`data-links`) ends in a menu of those for which there is no place: on a narrow screen, of more.

const GAP = 1; // widths are rounded

for (const row of document.querySelectorAll("[data-links]")) {
  const menu = row.querySelector(".row-more");
  const list = menu.querySelector(".menu-list");
  const title = menu.querySelector("[data-title]");
  const number = menu.querySelector("summary > .tab-count");
  const always = list.children.length; // those that are never in the row
  const links = [...row.querySelectorAll(":scope > a")];

  const fit = () => {
    for (const link of links) menu.before(link);
    menu.hidden = always === 0;
    const moved = [...links];
    while (row.scrollWidth > row.clientWidth + GAP && moved.length > 1) {
      list.prepend(moved.pop());
      menu.hidden = false;
      tell();
    }
    tell();
  };

  // The menu is called like the page itself if that is in it, and says how much waits there.
  const tell = () => {
    const current = list.querySelector("[aria-current]");
    const words = current && [...current.childNodes].find((node) => node.nodeType === Node.TEXT_NODE);
    title.textContent = words ? words.textContent.trim() : title.dataset.title;
    menu.querySelector("summary").toggleAttribute("aria-current", Boolean(current));
    if (current) menu.querySelector("summary").setAttribute("aria-current", "page");
    const counts = [...list.querySelectorAll(".tab-count")].map((count) => Number(count.textContent));
    const waiting = counts.reduce((sum, count) => sum + count, 0);
    number.textContent = waiting;
    number.hidden = waiting === 0;
  };

  new ResizeObserver(fit).observe(row.parentElement);
  document.fonts.ready.then(fit);
  fit();
}
