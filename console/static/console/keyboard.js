// `/` search, `g` and a letter, `j` and `k` in tables, `?` help, Esc.
(() => {
  const find = (selector) => document.querySelector(selector);
  const isTyping = (element) => element.closest("input, select, textarea, [contenteditable]");
  let afterG = 0;

  function go(key) {
    const link = find(`#side a[data-key="${CSS.escape(key)}"]`);
    if (link) location.assign(link.href);
  }

  // Focus the first link or button of a row; rows without one are skipped.
  function move(step) {
    const rows = [...document.querySelectorAll("main tbody tr, main [data-rows] > *")]
      .map((row) => row.querySelector("a, button, summary, [tabindex='0']"))
      .filter((target) => target && target.offsetParent !== null);
    if (!rows.length) return;
    const current = rows.findIndex((target) => target.closest("tr, [data-rows] > *").contains(document.activeElement));
    const next = current < 0 ? (step > 0 ? 0 : rows.length - 1) : current + step;
    rows[Math.max(0, Math.min(next, rows.length - 1))].focus();
  }

  // Menus and choosers of columns: one is open, until a click elsewhere or Esc.
  const openMenus = () => [...document.querySelectorAll("details:is(.more-actions, .chooser)[open]")];

  document.addEventListener("click", (event) => {
    openMenus().filter((menu) => !menu.contains(event.target)).forEach((menu) => { menu.open = false; });
  });

  function leave() {
    const [menu] = openMenus();
    if (!menu) return find("#side.open")?.classList.remove("open");
    menu.open = false;
    menu.querySelector("summary").focus();
  }

  const actions = {
    "/": () => find(".search input").focus(),
    "?": () => find("#help").showModal(),
    j: () => move(1),
    k: () => move(-1),
    g: () => { afterG = Date.now(); },
    Escape: leave,
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isTyping(event.target)) {
      // Leave the field, so that letters are shortcuts again; dialogs handle Escape themselves.
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
