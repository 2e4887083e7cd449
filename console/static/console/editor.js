// The editor: drafts come back in step with the form; a preview or a conflict takes the focus.
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
  // A field that was left just now still has to reach the YAML, which is what is sent.
  let underWay = 0;
  let waiting = null;
  document.addEventListener("htmx:beforeRequest", (event) => { if (event.target.closest("#editor")) underWay += 1; });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!event.target.closest("#editor") && event.target.isConnected) return;
    underWay = Math.max(0, underWay - 1);
    if (underWay || !waiting) return;
    const button = waiting;
    waiting = null;
    // If the step failed, its message is what the person has to see first.
    if (event.detail.successful) setTimeout(() => button.form.requestSubmit(button), 50);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "editor" || !underWay) return;
    event.preventDefault();
    waiting = event.submitter;
  });
  // A changed text has not been previewed.
  document.addEventListener("input", (event) => {
    if (event.target.name === "confirm" || event.target.name === "reason") return;
    document.querySelectorAll("#plan button").forEach((one) => { one.disabled = true; });
  });
})();
