// `/` search, `g` and a letter, `j` and `k` in tables, `?` help, Esc.
(() => {
  const find = (what) => document.querySelector(what);
  const isTyping = (where) => where.closest("input, select, textarea, [contenteditable]");
  let afterG = 0;

  function go(key) {
    const link = find(`#side a[data-key="${CSS.escape(key)}"]`);
    if (link) location.assign(link.href);
  }

  // A row is entered by its first link or button; a row without one cannot be opened.
  function move(step) {
    const rows = [...document.querySelectorAll("main tbody tr, main [data-rows] > *")]
      .map((row) => row.querySelector("a, button, summary, [tabindex='0']"))
      .filter((one) => one && one.offsetParent !== null);
    if (!rows.length) return;
    const here = rows.findIndex((one) => one.closest("tr, [data-rows] > *").contains(document.activeElement));
    const next = here < 0 ? (step > 0 ? 0 : rows.length - 1) : here + step;
    rows[Math.max(0, Math.min(next, rows.length - 1))].focus();
  }

  const actions = {
    "/": () => find(".search input").focus(),
    "?": () => find("#help").showModal(),
    j: () => move(1),
    k: () => move(-1),
    g: () => { afterG = Date.now(); },
    Escape: () => find("#side.open")?.classList.remove("open"),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isTyping(event.target)) {
      // Out of a field, so that the letters are commands again; a dialog closes by itself.
      if (event.key === "Escape" && !event.target.closest("dialog")) event.target.blur();
      return;
    }
    if (find("dialog[open]")) return;
    if (Date.now() - afterG < 1500) {
      afterG = 0;
      go(event.key);
      event.preventDefault();
    } else if (actions[event.key]) {
      actions[event.key]();
      event.preventDefault();
    }
  });
})();
