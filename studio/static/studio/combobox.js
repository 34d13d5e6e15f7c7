// One combobox for everything that is picked by name: what can be chosen is shown below the field while somebody types,
// with its state, its folder and how its text begins. ARIA's pattern with a list; the field keeps the focus.
//
// A field stands in `data-pick`, which says what it is about. The server is asked at `data-choices` of the nearest
// element that has it; without one, the field's own datalist is what can be chosen. Without this script the datalist
// is all there is.

import { caseless } from "./text.js";

const { gettext, interpolate, ngettext } = window;
const WAIT = 150;
const MOST = 20;
const pickers = new WeakMap();
let made = 0;

const FIELDS = "[data-pick] input:not([type=hidden]):not([type=checkbox])";

const element = (name, className, textContent) => Object.assign(document.createElement(name), { className, textContent });

function optionOf(choice, id) {
  const option = element("li", "pick-option");
  option.id = id;
  option.setAttribute("role", "option");
  option.dataset.id = choice.id;
  const name = element("span", "pick-name", choice.name || choice.id);
  name.dir = "auto";
  option.append(name);
  if (choice.state) option.append(" ", element("span", `chip ${choice.chip}`, choice.state));
  if (choice.name && choice.name !== choice.id) option.append(" ", element("code", "pick-id", choice.id));
  if (choice.preview) {
    const preview = element("span", "pick-preview", choice.preview);
    preview.dir = "auto";
    option.append(" ", preview);
  }
  return option;
}

export class Picker {
  found = [];
  active = -1;
  waiting = null;
  request = null;

  constructor(input) {
    made += 1;
    this.input = input;
    this.pick = input.closest("[data-pick]");
    this.source = this.pick.closest("[data-choices]")?.dataset.choices;
    this.own = input.list;
    input.removeAttribute("list");
    this.list = element("ul", "pick-list");
    this.list.id = `pick-list-${made}`;
    this.list.hidden = true;
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", gettext("Suggestions"));
    this.status = element("span", "unseen");
    this.status.setAttribute("role", "status");
    this.dress();
    this.pick.append(this.list, this.status);
    // Before the field loses the focus, with which the list would go.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.take([...this.list.children].indexOf(option));
    });
    input.addEventListener("input", () => this.later());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("click", () => { if (this.list.hidden) this.search(); });
    input.addEventListener("blur", () => this.leave());
  }

  get typed() { return this.input.value.trim(); }

  dress() {
    for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.list.id, autocomplete: "off" })) this.input.setAttribute(name, value);
  }

  tell(isOpen) { this.input.setAttribute("aria-expanded", String(isOpen)); }

  // Ask no more, nor wait for what was asked: a late answer would open the list again.
  stop() {
    clearTimeout(this.waiting);
    this.request?.abort();
    this.waiting = this.request = null;
  }

  later() {
    this.stop();
    this.waiting = setTimeout(() => this.search(), WAIT);
  }

  async search({ opens = true } = {}) {
    this.stop();
    const text = this.typed;
    const request = new AbortController();
    const { signal } = request;
    this.request = request;
    try {
      const found = this.source ? await this.asked(text, signal) : this.listed(text);
      if (signal.aborted || this.typed !== text) return;
      this.found = found;
      this.pick.dispatchEvent(new CustomEvent("studio:picking", { bubbles: true, detail: { found, text } }));
      if (opens && document.activeElement === this.input) this.show();
    } catch (error) {
      if (error.name !== "AbortError") this.close();
    } finally {
      if (this.request === request) this.request = null;
    }
  }

  async asked(text, signal) {
    const asked = new URLSearchParams({ of: this.pick.dataset.pick, q: text });
    const beside = this.pick.dataset.beside && document.getElementById(this.pick.dataset.beside);
    if (beside) asked.set("provider", beside.value.trim());
    const answer = await fetch(`${this.source}${this.source.includes("?") ? "&" : "?"}${asked}`, { signal });
    return answer.ok && !answer.redirected ? (await answer.json()).choices : [];
  }

  listed(text) {
    const sought = caseless(text);
    const all = [...this.own?.options ?? []].map((one) => ({ id: one.value, name: one.label }));
    return all.filter((one) => caseless(`${one.id}\n${one.name}`).includes(sought)).slice(0, MOST);
  }

  show() {
    this.list.replaceChildren(...this.found.map((choice, place) => optionOf(choice, `${this.list.id}-${place}`)));
    this.list.hidden = this.found.length === 0;
    this.tell(!this.list.hidden);
    this.activate(-1);
    this.status.textContent = interpolate(ngettext("%s suggestion", "%s suggestions", this.found.length), [this.found.length]);
    if (!this.list.hidden) this.list.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.stop();
    this.list.hidden = true;
    this.tell(false);
    this.activate(-1);
  }

  activate(place) {
    this.list.children[this.active]?.removeAttribute("aria-selected");
    this.active = place;
    const option = this.list.children[place];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.input.setAttribute("aria-activedescendant", option.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  take(place) {
    const choice = this.found[place];
    if (!choice) return;
    this.close();
    this.put(choice);
  }

  // With the events of a field, so that the page goes on to know nothing but the field.
  put(choice) {
    this.input.value = choice.id;
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
    this.stop(); // it was typed by nobody
    this.input.dispatchEvent(new Event("change", { bubbles: true }));
    this.pick.dispatchEvent(new CustomEvent("studio:picked", { bubbles: true, detail: { choice, found: this.found } }));
  }

  // Who typed the whole name of one of them means that one.
  async leave() {
    const { typed } = this;
    const wasSearching = !this.list.hidden || this.waiting || this.request;
    this.close();
    if (!typed || !wasSearching) return;
    await this.search({ opens: false });
    if (this.typed !== typed || this.found.some((one) => one.id === typed)) return;
    const named = this.found.filter((one) => one.name && caseless(one.name) === caseless(typed));
    if (named.length === 1) this.put(named[0]);
  }

  key(event) {
    if (event.isComposing) return;
    const isOpen = !this.list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!isOpen) this.search();
      else {
        // One place more than there are options: the field itself.
        const places = this.found.length + 1;
        const by = event.key === "ArrowDown" ? 1 : -1;
        if (!event.altKey) this.activate(((this.active + 1 + by + places) % places) - 1);
      }
    } else if (event.key === "Enter" && isOpen && this.active >= 0) {
      event.preventDefault();
      this.take(this.active);
    } else if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      event.stopPropagation();
      this.close();
    }
  }
}

const pickerOf = (input) => {
  if (!pickers.has(input)) pickers.set(input, new Picker(input));
  return pickers.get(input);
};

// Rows come and go, so a field becomes a combobox when somebody gets there. With a datalist it is one from the first.
document.addEventListener("focusin", ({ target }) => {
  if (!target.matches?.(FIELDS)) return;
  const picker = pickerOf(target);
  if (!target.value) picker.search();
});
for (const input of document.querySelectorAll(FIELDS)) if (!input.list) pickerOf(input);
