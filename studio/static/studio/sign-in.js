// Tells people who were signed out while typing, on the sign-in page, that the text is not lost.

import { areThereAny } from "./unsaved.js";

const note = document.querySelector("[data-unsaved-note]");
if (note) note.hidden = !areThereAny();
