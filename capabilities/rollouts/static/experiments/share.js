// A slider beside each field for a share: both say the same number. Without scripts there is the field alone.

for (const slider of document.querySelectorAll("input[type=range][data-slides]")) {
  const field = document.getElementById(slider.dataset.slides);
  slider.value = field.value;
  slider.hidden = false;
  slider.addEventListener("input", () => { field.value = slider.value; });
  field.addEventListener("input", () => { slider.value = field.value; });
}
