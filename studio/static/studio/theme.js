// Light or dark, decided before anything is drawn; so this is no module, which would come too late.
(() => {
  const KEY = "studio-theme";
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let now = "auto"; // where the browser remembers nothing, the choice lasts for a page
  const chosen = () => {
    try {
      return localStorage.getItem(KEY) ?? "auto";
    } catch {
      return now;
    }
  };
  const choose = (theme) => {
    now = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch { /* as above */ }
  };

  function apply() {
    const theme = chosen();
    const isDark = theme === "dark" || (theme === "auto" && system.matches);
    document.documentElement.classList.toggle("dark", isDark);
    document.documentElement.classList.toggle("light", !isDark);
    for (const button of document.querySelectorAll("[data-theme]")) {
      button.setAttribute("aria-pressed", String(button.dataset.theme === theme));
    }
  }

  document.documentElement.classList.add("js"); // what only scripts can end must not begin without them
  apply();
  system.addEventListener("change", apply);
  window.addEventListener("storage", apply);
  document.addEventListener("DOMContentLoaded", () => {
    for (const group of document.querySelectorAll(".theme-switch")) {
      group.hidden = false;
      group.addEventListener("click", (event) => {
        const button = event.target.closest("[data-theme]");
        if (!button) return;
        choose(button.dataset.theme);
        apply();
      });
    }
    apply();
  });
})();
