// Set the colours that the user chose, before anything is painted.
(() => {
  try {
    const chosen = localStorage.getItem("nexus-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch { /* no storage: the system decides */ }
})();
