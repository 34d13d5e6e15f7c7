// Choosing in a list: all on the page or of one workspace at once, and how many are chosen. Without it each checkbox
// is ticked by itself. A checkbox may stand anywhere on the page and name its form.

const { interpolate, ngettext } = window;

for (const form of document.querySelectorAll("form[data-choose]")) {
  const boxes = () => [...form.elements].filter((box) => box.name === "chosen" && box.type === "checkbox" && !box.disabled);
  // Of a form, if it has them; the lists have them beside it.
  const find = (selector) => (form.querySelector(selector) ? form : document).querySelectorAll(selector);
  const of = (all) => {
    const part = all.closest("[data-choose-part]");
    const own = part ? boxes().filter((box) => part.contains(box)) : boxes();
    return all.dataset.chooseAll === "free" ? own.filter((box) => !("hindered" in box.dataset)) : own;
  };
  const show = () => {
    for (const all of find("[data-choose-all]")) {
      const [own, chosen] = [of(all), of(all).filter((box) => box.checked)];
      all.hidden = own.length === 0;
      const box = all.querySelector("input");
      box.checked = chosen.length > 0 && chosen.length === own.length;
      box.indeterminate = chosen.length > 0 && !box.checked;
    }
    const count = boxes().filter((box) => box.checked).length;
    for (const said of find("[data-choose-count]")) said.textContent = interpolate(ngettext("%s chosen", "%s chosen", count), [count]);
  };
  document.addEventListener("change", (event) => {
    const all = event.target.closest("[data-choose-all]");
    if (all && [...find("[data-choose-all]")].includes(all)) {
      for (const box of of(all)) box.checked = event.target.checked;
    }
    show();
  });
  document.addEventListener("studio:renewed", show); // live.js has put in what is new
  addEventListener("pageshow", show); // the browser may have restored what was ticked
}
