// Whoever was signed out while typing is told, where one signs in, that the text is not lost.

import { areThereAny } from "./unsaved.js";

const note = document.querySelector("[data-unsaved-note]");
if (note) note.hidden = !areThereAny();
