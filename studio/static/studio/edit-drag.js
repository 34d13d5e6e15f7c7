// Blocks are dragged by their handle, with a mouse, a pen or a finger; the arrows do the same by keyboard.
//
// While one is dragged, all of them are shown as one line each, so that a long prompt is not a long way.
// As with the arrows, the neighbours move and not the block itself: it would lose the pointer otherwise.

import { announcePlace, changed, rowsOf } from "./edit-rows.js";
import { clipped } from "./text.js";

const EDGE = 60; // how near to the edge of the window it begins to scroll, in pixels
const STEP = 12;
let dragged = null;

const middleOf = (row) => { const box = row.getBoundingClientRect(); return box.top + box.height / 2; };

function begin(event, handle) {
  const row = handle.closest("[data-row]");
  const list = row.parentElement;
  dragged = { row, list, handle, y: event.clientY, before: [...list.children], timer: null };
  handle.setPointerCapture(event.pointerId);
  for (const one of rowsOf(list)) sayHowItBegins(one);
  keepingPlace(handle, () => list.classList.add("sorting"));
  row.classList.add("dragged");
  dragged.timer = setInterval(scrollAtEdge, 16);
  event.preventDefault();
}

// A block in one line says how its text begins, for one text is told from another by that.
function sayHowItBegins(row) {
  const text = row.querySelector("textarea.prompt");
  if (text) row.querySelector(".block-sort").dataset.begins = clipped(text.value.trim().split("\n", 1)[0], 120);
}

// Runs what changes the height of the blocks, and leaves the handle where it was on the screen.
function keepingPlace(handle, change) {
  const { top } = handle.getBoundingClientRect();
  change();
  scrollBy(0, handle.getBoundingClientRect().top - top);
}

function scrollAtEdge() {
  if (dragged.y < EDGE) scrollBy(0, -STEP);
  else if (dragged.y > innerHeight - EDGE) scrollBy(0, STEP);
  else return;
  settle();
}

// Moves the neighbours whose middle the pointer has passed to the other side of the block.
function settle() {
  const { row, list, y } = dragged;
  const rows = rowsOf(list);
  const place = rows.indexOf(row);
  for (const other of rows.slice(0, place).reverse()) {
    if (y >= middleOf(other)) break;
    row.after(other);
  }
  for (const other of rows.slice(place + 1)) {
    if (y <= middleOf(other)) break;
    row.before(other);
  }
}

function end({ isCancelled }) {
  const { row, list, handle, before, timer } = dragged;
  dragged = null;
  clearInterval(timer);
  if (isCancelled) list.append(...before);
  keepingPlace(handle, () => list.classList.remove("sorting"));
  row.classList.remove("dragged");
  const isMoved = [...list.children].some((one, place) => one !== before[place]);
  if (!isMoved) return;
  announcePlace(row);
  changed(row);
}

document.addEventListener("pointerdown", (event) => {
  const handle = event.target.closest("[data-drag]");
  if (handle && event.button === 0 && !dragged) begin(event, handle);
});
document.addEventListener("pointermove", (event) => {
  if (!dragged) return;
  dragged.y = event.clientY;
  settle();
});
document.addEventListener("pointerup", () => { if (dragged) end({ isCancelled: false }); });
document.addEventListener("pointercancel", () => { if (dragged) end({ isCancelled: true }); });
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !dragged) return;
  event.preventDefault();
  end({ isCancelled: true });
});
