// Drafts: input is kept in this browser until it is saved or discarded, even if the session ends.
(() => {
  const PREFIX = `cp-draft:${document.body.dataset.user}:`;
  const DAYS = 7 * 24 * 3600 * 1000;
  const fieldsOf = (form) => [...form.querySelectorAll("[data-keep]")];

  function keep(form) {
    const fields = Object.fromEntries(fieldsOf(form).map((field) => [field.name, field.value]));
    try {
      localStorage.setItem(PREFIX + form.dataset.draft, JSON.stringify({ at: Date.now(), fields }));
    } catch { /* ignore full or disabled storage */ }
  }

  function restore(form) {
    const draft = JSON.parse(localStorage.getItem(PREFIX + form.dataset.draft) || "null");
    if (!draft || Date.now() - draft.at > DAYS) return;
    const changed = fieldsOf(form).filter((field) => (draft.fields[field.name] ?? field.value) !== field.value);
    // The same text with another version is not a draft; a draft keeps its base version.
    if (!changed.some((field) => field.type !== "hidden")) return forget(form.dataset.draft);
    changed.forEach((field) => { field.value = draft.fields[field.name]; });
    const notice = form.querySelector("[data-draft-notice]");
    if (notice) notice.hidden = false;
    form.dispatchEvent(new CustomEvent("draft-restored", { bubbles: true }));
  }

  function forget(key) { localStorage.removeItem(PREFIX + key); }

  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-draft]");
    if (form) keep(form);
  });
  // The server updated a part of the form.
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
  // After a save, the next page names the draft to delete.
  document.querySelectorAll("[data-draft-saved]").forEach((message) => forget(message.dataset.draftSaved));
  // The form returned by a preview is newer than any draft.
  document.querySelectorAll("form[data-draft]").forEach((form) => {
    if ("draftKeepServer" in form.dataset) keep(form);
    else restore(form);
  });

  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    if (status !== 401) return window.toast(`The server returned an error (${status}). Try again.`);
    const dialog = document.querySelector("#logged-out");
    const link = dialog.querySelector("[data-log-in]");
    link.href = `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
    if (!dialog.open) dialog.showModal();
  });
  document.addEventListener("htmx:sendError", () => window.toast("The server is unreachable. Your input is kept."));
})();
