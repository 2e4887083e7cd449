// The command palette: Ctrl-K or Cmd-K, arrows, Enter. The input keeps the focus; the list follows it.
(() => {
  const dialog = document.querySelector("#palette");
  if (!dialog) return;
  const input = dialog.querySelector("input");
  const results = dialog.querySelector("[data-results]");
  const status = dialog.querySelector("[role='status']");
  let request = null;
  let timer = 0;
  const options = () => [...results.querySelectorAll("[role='option']")];
  const current = () => results.querySelector("[aria-selected='true']");

  function select(option) {
    current()?.setAttribute("aria-selected", "false");
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  }

  async function load() {
    request?.abort();
    request = new AbortController();
    try {
      const headers = { "HX-Request": "true" };
      const response = await fetch(`/palette?q=${encodeURIComponent(input.value)}`, { headers, signal: request.signal });
      if (!response.ok) throw new Error(String(response.status));
      results.innerHTML = await response.text();
      const count = options().length;
      status.textContent = count === 1 ? "1 result" : `${count} results`;
      select(options()[0]);
    } catch (error) {
      if (error.name === "AbortError") return;
      results.replaceChildren();
      select(null);
      status.textContent = "The server did not answer. Try again.";
    }
  }

  function open() {
    if (dialog.open || document.querySelector("dialog[open]")) return;
    input.value = "";
    dialog.showModal();
    load();
  }

  function move(step) {
    const all = options();
    if (!all.length) return;
    const at = all.indexOf(current());
    select(all[(at + step + all.length) % all.length]);
  }

  const keys = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => current()?.click(),
  };

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (dialog.open) dialog.close(); else open();
    }
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(load, 80);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-palette]")) open();
    // Outside of what the dialog shows.
    if (event.target === dialog) dialog.close();
  });
  // A link to a place on the same page leaves the dialog open otherwise.
  results.addEventListener("click", (event) => { if (event.target.closest("a")) dialog.close(); });
})();
