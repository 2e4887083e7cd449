// Follow the event log, and reload the parts of the page that show changed objects.
// <div id="x" data-live="override. agent." hx-get="" hx-select="#x" hx-swap="outerHTML" hx-trigger="live">
// lists prefixes of event types; an empty data-live matches every event.
(() => {
  const badge = document.querySelector("[data-live-badge]");
  const parts = () => [...document.querySelectorAll("[data-live]")];
  if (!parts().length || !badge) return;
  let stop = null;
  // Start after the events that the page already shows, so that none is missed before the stream connects.
  let after = badge.dataset.after;
  const due = new Set();

  function show(state) {
    badge.hidden = false;
    badge.className = `live ${state}`;
    if (badge.textContent !== state) badge.textContent = state;
  }

  // Reload at most once a second, however many events arrive.
  let timer = 0;
  function refresh() {
    timer = timer || setTimeout(() => {
      timer = 0;
      const focused = document.activeElement?.closest("[data-live]");
      parts().forEach((part) => {
        const matches = part.dataset.live.split(" ").some((start) => [...due].some((type) => type.startsWith(start)));
        // Never reload the part that has the focus.
        if (matches && part !== focused) htmx.trigger(part, "live");
      });
      due.clear();
    }, 1000);
  }

  function receive(block) {
    const event = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
    if (event.id) after = event.id;
    if (event.event && event.event !== "bookmark") { due.add(event.event); refresh(); }
  }

  async function follow() {
    stop = new AbortController();
    const headers = { Accept: "text/event-stream", ...(after ? { "Last-Event-ID": after } : {}) };
    const response = await fetch("/api/v1/events", { headers, signal: stop.signal });
    if (!response.ok) throw Object.assign(new Error("refused"), { status: response.status });
    show("live");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      blocks.forEach(receive);
    }
  }

  // Reload parts that change without events, such as heartbeats; data-every is in seconds.
  document.querySelectorAll("[data-every]").forEach(({ id, dataset }) => setInterval(() => {
    const part = document.getElementById(id);
    if (part && !document.hidden && !part.contains(document.activeElement)) htmx.trigger(part, "live");
  }, dataset.every * 1000));

  let isRunning = false;
  async function run() {
    if (isRunning) return;
    isRunning = true;
    try { await followOn(); } finally { isRunning = false; }
  }

  async function followOn() {
    for (let wait = 1; !document.hidden; wait = Math.min(wait * 2, 30)) {
      const began = Date.now();
      try { await follow(); } catch (error) {
        if (document.hidden) break;
        if (error.status === 401 || error.status === 403) return show("paused");
        if (error.status === 410) after = "";
      }
      if (Date.now() - began > 30000) wait = 1;
      show("reconnecting");
      await new Promise((go) => setTimeout(go, wait * 1000 * (0.5 + Math.random())));
    }
    show("paused");
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return stop?.abort();
    // Reload what changed while the page was hidden.
    parts().forEach((part) => htmx.trigger(part, "live"));
    run();
  });
  window.addEventListener("pagehide", () => stop?.abort());
  run();
})();
