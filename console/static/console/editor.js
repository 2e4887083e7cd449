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
  // A changed text has not been previewed.
  document.addEventListener("input", (event) => {
    if (event.target.name === "confirm" || event.target.name === "reason") return;
    document.querySelectorAll("#plan button").forEach((one) => { one.disabled = true; });
  });
})();
