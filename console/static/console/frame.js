// Theme, menu, copying, toasts.
(() => {
  const find = (what) => document.querySelector(what);

  function toast(text) {
    const one = document.createElement("p");
    one.className = "toast";
    one.textContent = text;
    find("#toasts").append(one);
    setTimeout(() => one.remove(), 6000);
  }
  window.toast = toast;
  document.querySelectorAll("#toasts .toast").forEach((one) => setTimeout(() => one.remove(), 8000));
  // A server's answer may say what to tell: HX-Trigger: {"toast": "Saved."}
  document.addEventListener("toast", (event) => toast(event.detail.value));

  function choose(theme) {
    document.documentElement.dataset.theme = theme;
    document.cookie = `cp-theme=${theme}; Path=/; Max-Age=31536000; SameSite=Lax`;
    document.querySelectorAll("[data-theme-choice]").forEach((one) => {
      one.setAttribute("aria-pressed", String(one.dataset.themeChoice === theme));
    });
  }

  function toggleMenu(button) {
    const isOpen = find("#side").classList.toggle("open");
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) find("#side a")?.focus();
  }

  async function copy(button) {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      toast("Copied.");
    } catch {
      toast("The browser does not allow copying here. Mark the text and copy it yourself.");
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-theme-choice], [data-menu], [data-copy], [data-help]");
    if (!button) {
      if (!event.target.closest("#side")) find("#side.open")?.classList.remove("open");
      return;
    }
    if (button.dataset.themeChoice) choose(button.dataset.themeChoice);
    if ("menu" in button.dataset) toggleMenu(button);
    if ("copy" in button.dataset) copy(button);
    if ("help" in button.dataset) find("#help").showModal();
  });
})();
