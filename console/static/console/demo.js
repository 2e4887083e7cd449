// The card of the demo: once it is hidden, it stays so in this browser.
document.querySelector("[data-dismiss-demo]")?.addEventListener("click", () => {
  document.cookie = "cp-demo-card=off; Path=/; Max-Age=31536000; SameSite=Lax";
  document.querySelector("#demo").remove();
  document.querySelector("#main").focus();
});
