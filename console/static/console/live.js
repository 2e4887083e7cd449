// Follow the event log, and let the parts that show what changed load themselves again.
// <div id="x" data-live="override. agent." hx-get="" hx-select="#x" hx-swap="outerHTML" hx-trigger="live">
// names how the types of the events begin; an empty data-live means every event.
(() => {
  const badge = document.querySelector("[data-live-badge]");
  const parts = () => [...document.querySelectorAll("[data-live]")];
  if (!parts().length || !badge) return;
  let stop = null;
  // From what the page already shows: what happens until the stream stands is told as well.
  let after = badge.dataset.after;
  const due = new Set();

  function show(state) {
    badge.hidden = false;
    badge.className = `live ${state}`;
    if (badge.textContent !== state) badge.textContent = state;
  }

  // Together, and at most once a second: a storm of events is one look.
  let timer = 0;
  function refresh() {
    timer = timer || setTimeout(() => {
      timer = 0;
      const held = document.activeElement?.closest("[data-live]");
      parts().forEach((one) => {
        const wants = one.dataset.live.split(" ").some((start) => [...due].some((type) => type.startsWith(start)));
        // Never under somebody's hands.
        if (wants && one !== held) htmx.trigger(one, "live");
      });
      due.clear();
    }, 1000);
  }

  function hear(block) {
    const said = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
    if (said.id) after = said.id;
    if (said.event && said.event !== "bookmark") { due.add(said.event); refresh(); }
  }

  async function follow() {
    stop = new AbortController();
    const headers = { Accept: "text/event-stream", ...(after ? { "Last-Event-ID": after } : {}) };
    const answer = await fetch("/api/v1/events", { headers, signal: stop.signal });
    if (!answer.ok) throw Object.assign(new Error("refused"), { status: answer.status });
    show("live");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      blocks.forEach(hear);
    }
  }

  // What no event tells of, such as heartbeats: data-every is in seconds.
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
    // What was missed while nobody looked.
    parts().forEach((one) => htmx.trigger(one, "live"));
    run();
  });
  window.addEventListener("pagehide", () => stop?.abort());
  run();
})();
