// What was typed outlives the session: drafts lie in this browser until they are saved or given up.
(() => {
  const PREFIX = `cp-draft:${document.body.dataset.user}:`;
  const DAYS = 7 * 24 * 3600 * 1000;
  const fieldsOf = (form) => [...form.querySelectorAll("[data-keep]")];

  function keep(form) {
    const fields = Object.fromEntries(fieldsOf(form).map((one) => [one.name, one.value]));
    try {
      localStorage.setItem(PREFIX + form.dataset.draft, JSON.stringify({ at: Date.now(), fields }));
    } catch { /* a full or forbidden store must not hinder typing */ }
  }

  function restore(form) {
    const draft = JSON.parse(localStorage.getItem(PREFIX + form.dataset.draft) || "null");
    if (!draft || Date.now() - draft.at > DAYS) return;
    const changed = fieldsOf(form).filter((one) => (draft.fields[one.name] ?? one.value) !== one.value);
    // Another version and the same text is no draft; but a draft keeps the version that it began with.
    if (!changed.some((one) => one.type !== "hidden")) return forget(form.dataset.draft);
    changed.forEach((one) => { one.value = draft.fields[one.name]; });
    const notice = form.querySelector("[data-draft-notice]");
    if (notice) notice.hidden = false;
    form.dispatchEvent(new CustomEvent("draft-restored", { bubbles: true }));
  }

  function forget(key) { localStorage.removeItem(PREFIX + key); }

  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-draft]");
    if (form) keep(form);
  });
  // The server rewrote a part of the form.
  document.addEventListener("htmx:oobAfterSwap", (event) => {
    const form = event.target.closest("form[data-draft]");
    if (form) keep(form);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-draft-discard]");
    if (!button) return;
    forget(button.closest("form").dataset.draft);
    location.reload();
  });
  // The page after a save names the draft that it made needless.
  document.querySelectorAll("[data-draft-saved]").forEach((one) => forget(one.dataset.draftSaved));
  // What the server answers to a preview is newer than any draft.
  document.querySelectorAll("form[data-draft]").forEach((one) => {
    if ("draftKeepServer" in one.dataset) keep(one);
    else restore(one);
  });

  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    if (status !== 401) return window.toast(`The server answered ${status}. Try again.`);
    const dialog = document.querySelector("#logged-out");
    const link = dialog.querySelector("[data-log-in]");
    link.href = `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
    if (!dialog.open) dialog.showModal();
  });
  document.addEventListener("htmx:sendError", () => window.toast("The server cannot be reached. What you typed is kept."));
})();
