// What stands around an editor: the buttons above it; below it, how long the text is and what is not right.

import { diagnosticCount, forEachDiagnostic, setDiagnosticsEffect } from "@codemirror/lint";
import { openSearchPanel } from "@codemirror/search";
import { estimateTokenCount } from "tokenx";

import { graphemes } from "../../static/studio/text.js";
import { FILL, FIND, KEYS, LEAVE, characters, moreProblems, onLine, tokens } from "./words.js";

const WAIT = 300;
const MOST_SHOWN = 3;
let made = 0;

function element(name, attributes = {}, ...children) {
  const one = Object.assign(document.createElement(name), attributes);
  one.append(...children);
  return one;
}

const button = (name, act) => {
  const one = element("button", { type: "button", className: "button button-small button-quiet", textContent: name });
  one.addEventListener("click", act);
  return one;
};

// The frame around a textarea; `put` gives it its editor.
export function surround(textarea) {
  made += 1;
  const id = `prompt-editor-${made}`;
  let view = null;
  const size = element("span", { className: "prompt-size", id: `${id}-size` });
  const problems = element("ul", { className: "prompt-problems" });
  const told = element("div", { id: `${id}-problems` }, problems);
  told.setAttribute("role", "status");
  const keys = element("span", { className: "unseen", id: `${id}-keys`, textContent: KEYS });
  const fill = button(FILL, () => (dialog.open ? dialog.close() : open()));
  const find = button(FIND, () => openSearchPanel(view));
  const bar = element("div", { className: "prompt-bar" }, size, find, fill);
  const dialog = element("dialog", { className: "prompt-window" });
  const place = element("div", { className: "prompt-place" });
  const frame = element("div", { className: "prompt-editor" }, dialog);
  textarea.before(frame);
  frame.prepend(place, textarea);

  function open() {
    dialog.append(place);
    dialog.showModal();
    moved(LEAVE);
  }
  function moved(name) {
    fill.textContent = name;
    view.requestMeasure();
    view.focus();
    // A node that was moved loses its caret, and the editor learns of it later, as if it had been put at the start.
    // It writes a selection into the page only where it differs from the last one, hence another one first.
    const { doc, selection } = view.state;
    view.dispatch({ selection: { anchor: selection.main.head ? 0 : doc.length } });
    view.dispatch({ selection });
  }
  dialog.addEventListener("close", () => {
    frame.prepend(place);
    moved(FILL);
  });
  dialog.setAttribute("aria-labelledby", textarea.labels[0]?.id ?? "");

  let waiting = null;
  function measure() {
    const text = view.state.doc.toString();
    size.textContent = `${characters(graphemes(text).length)}, ${tokens(rounded(estimateTokenCount(text)))}`;
  }
  function soon() {
    clearTimeout(waiting);
    waiting = setTimeout(measure, WAIT);
  }

  return {
    element: frame,
    described: `${size.id} ${told.id} ${keys.id}`,
    keys: [],
    put(editor) {
      view = editor;
      place.append(bar, keys, view.dom, told);
      measure();
    },
    update(update) {
      if (update.docChanged) soon();
      const isNew = update.transactions.some((one) => one.effects.some((effect) => effect.is(setDiagnosticsEffect)));
      if (isNew) showProblems(update.view, problems);
    },
  };
}

// An estimate, which is not more exact than two digits.
function rounded(count) {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(count || 1)) - 1);
  return Math.round(count / step) * step;
}

function showProblems(view, list) {
  const shown = [];
  forEachDiagnostic(view.state, (one, from) => {
    if (shown.length < MOST_SHOWN) shown.push(problemButton(view, one, from));
  });
  const more = diagnosticCount(view.state) - shown.length;
  if (more > 0) shown.push(element("li", { textContent: moreProblems(more) }));
  // Told again only when it has changed.
  const said = shown.map((one) => one.textContent).join("\n");
  if (list.dataset.said !== said) list.replaceChildren(...shown);
  list.dataset.said = said;
}

function problemButton(view, { severity, message }, from) {
  const line = view.state.doc.lineAt(from).number;
  const go = element("button", { type: "button", textContent: onLine(line, message) });
  go.addEventListener("click", () => {
    view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
    view.focus();
  });
  return element("li", { className: `prompt-problem prompt-problem-${severity}` }, go);
}
