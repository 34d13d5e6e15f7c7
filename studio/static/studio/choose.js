// Choosing in a list: all on the page at once, and how many are chosen. Without it each checkbox is ticked
// by itself. A checkbox may stand anywhere on the page and name its form.

const { interpolate, ngettext } = window;

for (const form of document.querySelectorAll("form[data-choose]")) {
  const boxes = () => [...form.elements].filter((box) => box.name === "chosen" && box.type === "checkbox" && !box.disabled);
  const show = () => {
    const chosen = boxes().filter((box) => box.checked);
    const all = document.querySelector("[data-choose-all]");
    const count = document.querySelector("[data-choose-count]");
    if (all) {
      all.hidden = false;
      const box = all.querySelector("input");
      box.checked = chosen.length > 0 && chosen.length === boxes().length;
      box.indeterminate = chosen.length > 0 && !box.checked;
    }
    if (count) count.textContent = interpolate(ngettext("%s chosen", "%s chosen", chosen.length), [chosen.length]);
  };
  document.addEventListener("change", (event) => {
    if (event.target.closest("[data-choose-all]")) {
      for (const box of boxes()) box.checked = event.target.checked;
    }
    show();
  });
  document.addEventListener("studio:renewed", show); // live.js has put in what is new
  addEventListener("pageshow", show); // the browser may have restored what was ticked
}
