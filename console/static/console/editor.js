// The editor: synchronise restored drafts with the form; focus a preview or a conflict.
(() => {
  const yaml = () => document.querySelector("#yaml");
  document.addEventListener("draft-restored", () => htmx.trigger(yaml(), "typed"));
  document.querySelector("#plan, #conflict")?.focus();
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-take]");
    if (!button) return;
    yaml().value = document.getElementById(button.dataset.take).textContent;
    yaml().dispatchEvent(new Event("input", { bubbles: true }));
    yaml().focus();
  });
  // Rows of names and values: add one from the template, remove one.
  document.addEventListener("click", (event) => {
    const group = event.target.closest(".pairs");
    if (!group) return;
    if (event.target.closest("[data-add-pair]")) {
      group.querySelector(".rows").append(group.querySelector("template").content.cloneNode(true));
      group.querySelector(".rows > :last-child input").focus();
    } else if (event.target.closest("[data-remove-pair]")) {
      event.target.closest(".pair").remove();
      group.querySelector("[data-add-pair]").focus();
      group.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
  // Wait until the change of the last field has reached the YAML, which is what is submitted.
  let pendingRequests = 0;
  let waiting = null;
  document.addEventListener("htmx:beforeRequest", (event) => { if (event.target.closest("#editor")) pendingRequests += 1; });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!event.target.closest("#editor") && event.target.isConnected) return;
    pendingRequests = Math.max(0, pendingRequests - 1);
    if (pendingRequests || !waiting) return;
    const button = waiting;
    waiting = null;
    // After a failure, show its message instead of submitting.
    if (event.detail.successful) setTimeout(() => button.form.requestSubmit(button), 50);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "editor" || !pendingRequests) return;
    event.preventDefault();
    waiting = event.submitter;
  });
  // The preview is outdated once the text changes.
  document.addEventListener("input", (event) => {
    if (["confirm", "reason", "ticket", "until", "override_freeze"].includes(event.target.name)) return;
    document.querySelectorAll("#plan button[data-final]").forEach((button) => { button.disabled = true; });
  });
})();
