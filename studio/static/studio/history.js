// Choosing two versions of the timeline: the older one is always "from", and never the same as "to".

const picks = (name) => [...document.querySelectorAll(`input[name="${name}"][form="compare"]`)];

function showWhatCanBeChosen() {
  const [from, to] = [picks("from"), picks("to")];
  const chosenFrom = from.findIndex((pick) => pick.checked);
  const chosenTo = to.findIndex((pick) => pick.checked);
  // Newest first: what is above "from" is newer than it.
  from.forEach((pick, place) => { pick.closest("label").hidden = chosenTo >= 0 && place <= chosenTo; });
  to.forEach((pick, place) => { pick.closest("label").hidden = chosenFrom >= 0 && place >= chosenFrom; });
}

for (const pick of [...picks("from"), ...picks("to")]) pick.addEventListener("change", showWhatCanBeChosen);
showWhatCanBeChosen();
