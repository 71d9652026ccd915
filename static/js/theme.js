// Before the first paint: the theme that was chosen here, else the system's.
(() => {
  const kept = localStorage.getItem("schedviz-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
