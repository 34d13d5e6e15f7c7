// Placeholders in one text are not filled in: who has typed some is offered blocks, in which they are.

const PLACEHOLDER = /\{\{[ \t]*[A-Za-z_]\w*(?:\.\w+)*[ \t]*(?:\}\}|\|\|)/;

function show(offer) {
  const text = offer.parentElement.querySelector("textarea[data-placeholders=literal]").value;
  offer.hidden = !PLACEHOLDER.test(text);
}

function turn(offer) {
  const field = offer.closest("[data-modes]");
  const radio = field.querySelector("input[type=radio][value=blocks]");
  // What becomes of the mode, the field tells as something typed.
  field.addEventListener("input", () => {
    if (radio.checked) field.querySelector("[data-mode=blocks] textarea")?.focus();
  }, { once: true });
  radio.checked = true;
  radio.dispatchEvent(new Event("change", { bubbles: true }));
}

const offers = () => document.querySelectorAll("[data-offer-blocks]");
for (const offer of offers()) show(offer);
document.addEventListener("input", () => { for (const offer of offers()) show(offer); });
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-offer-blocks] button");
  if (button) turn(button.closest("[data-offer-blocks]"));
});
