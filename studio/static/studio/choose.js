// Choosing in a list: all on the page at once, and how many are chosen. Without it each checkbox is ticked
// by itself.

const { interpolate, ngettext } = window;

for (const form of document.querySelectorAll("form[data-choose]")) {
  const boxes = () => [...form.querySelectorAll('input[name="chosen"]:not(:disabled)')];
  const show = () => {
    const chosen = boxes().filter((box) => box.checked);
    const all = form.querySelector("[data-choose-all]");
    const count = form.querySelector("[data-choose-count]");
    if (all) {
      all.hidden = false;
      const box = all.querySelector("input");
      box.checked = chosen.length > 0 && chosen.length === boxes().length;
      box.indeterminate = chosen.length > 0 && !box.checked;
    }
    if (count) count.textContent = interpolate(ngettext("%s chosen", "%s chosen", chosen.length), [chosen.length]);
  };
  form.addEventListener("change", (event) => {
    if (event.target.closest("[data-choose-all]")) {
      for (const box of boxes()) box.checked = event.target.checked;
    }
    show();
  });
  form.addEventListener("studio:renewed", show); // live.js has put in what is new
  addEventListener("pageshow", show); // the browser may have restored what was ticked
}
