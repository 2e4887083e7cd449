// Theme, menu, copying, toasts.
(() => {
  const find = (selector) => document.querySelector(selector);

  function toast(text) {
    const message = document.createElement("p");
    message.className = "toast";
    message.textContent = text;
    find("#toasts").append(message);
    setTimeout(() => message.remove(), 6000);
  }
  window.toast = toast;
  document.querySelectorAll("#toasts .toast").forEach((message) => setTimeout(() => message.remove(), 8000));
  // A response can trigger a toast: HX-Trigger: {"toast": "Saved."}
  document.addEventListener("toast", (event) => toast(event.detail.value));

  function choose(theme) {
    document.documentElement.dataset.theme = theme;
    document.cookie = `cp-theme=${theme}; Path=/; Max-Age=31536000; SameSite=Lax`;
    document.querySelectorAll("[data-theme-choice]").forEach((button) => {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === theme));
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
      toast("The browser blocked copying. Select the text and copy it manually.");
    }
  }

  // Only the browser knows its zone; the server shows times in it if that is chosen.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = `cp-browser-zone=${zone}; Path=/; Max-Age=31536000; SameSite=Lax`;

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
