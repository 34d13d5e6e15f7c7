// Names of people below a comment, while an @ is typed: those who may read it.

import { Picker } from "../studio/combobox.js";

const TYPED = /(?:^|[^\p{L}\p{M}\p{N}_.@+/-])@([\p{L}\p{M}\p{N}_.@+-]*)$/u;
const pickers = new WeakSet();

class Mentions extends Picker {
  constructor(box, source) {
    box.parentElement.dataset.pick ||= "person";
    super(box);
    this.source = source;
  }

  get typed() {
    const { selectionStart, selectionEnd, value } = this.input;
    return selectionStart === selectionEnd ? TYPED.exec(value.slice(0, selectionStart))?.[1] ?? null : null;
  }

  // A text of several lines is no combobox.
  dress() { this.input.setAttribute("aria-autocomplete", "list"); }

  tell(isOpen) {
    if (isOpen) this.input.setAttribute("aria-controls", this.list.id);
    else this.input.removeAttribute("aria-controls");
  }

  later() {
    if (this.typed === null) this.close();
    else super.later();
  }

  async search() { if (this.typed !== null) await super.search(); }

  show() {
    super.show();
    if (!this.list.hidden) this.activate(0);
  }

  put({ id }) {
    const { input, typed } = this;
    if (typed === null) return;
    input.setRangeText(`${id} `, input.selectionStart - typed.length, input.selectionStart, "end");
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }

  leave() { this.close(); }

  key(event) { if (!this.list.hidden && !event.ctrlKey && !event.metaKey) super.key(event); }
}

document.addEventListener("focusin", ({ target }) => {
  const source = document.querySelector("[data-people-choices]")?.dataset.peopleChoices;
  if (!source || pickers.has(target) || !target.matches?.("[data-comment-form] textarea[name=body]")) return;
  pickers.add(target);
  new Mentions(target, source);
});
