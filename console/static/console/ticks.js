// Ticked rows stay ticked when a table is reloaded; a row that is no longer shown is no longer ticked.
(() => {
  const ticked = () => [...document.querySelectorAll("[name=ticked]:checked")].map((tick) => tick.value);
  let kept = [];
  document.addEventListener("htmx:beforeSwap", () => { kept = ticked(); });
  document.addEventListener("htmx:afterSettle", () => document.querySelectorAll("[name=ticked][type=checkbox]").forEach((tick) => {
    tick.checked = tick.checked || kept.includes(tick.value);
  }));
})();
