// The connection of an open page to the board: a stream of changes, or a question every 0.7 seconds.
//
// A browser has six connections to a board, and a stream keeps one for as long as its page is seen. So only as many
// windows as there are locks have a stream, and the others ask. A window that is hidden has neither.
(() => {
  "use strict";
  const live = document.getElementById("live");
  if (!live) return;
  const STREAMS = 5;
  const ASK_MS = 700, FIRST_RETRY_MS = 500, LAST_RETRY_MS = 30000, TRIES = 4;
  const state = document.getElementById("live-state");
  const content = document.getElementById("content");
  const notice = { ended: document.getElementById("ended"), replaced: document.getElementById("replaced") };
  let seen = live.dataset.seen, stream = null, release = null, timer = 0, failures = 0, run = 0, isStale = false;

  const query = () => new URLSearchParams({ projects: live.dataset.projects, seen });
  const show = (word, name, which) => {
    if (state.textContent !== word) state.textContent = word;
    state.dataset.state = name;
    for (const [key, box] of Object.entries(notice)) box.hidden = key !== which;
  };
  const change = () => live.dispatchEvent(new Event("nexus-change"));
  const connected = () => {
    failures = 0;
    show("Live", "on");
    if (isStale) { isStale = false; change(); }
  };
  const changed = (now) => { seen = now; change(); };

  // One of the locks that the windows of this browser share; null if all are taken. Without locks each window has a stream.
  const take = async () => {
    if (!navigator.locks) return () => {};
    for (let number = 0; number < STREAMS; number += 1) {
      const free = await new Promise((answer) => {
        navigator.locks.request(`nexus-stream-${number}`, { ifAvailable: true }, (lock) => {
          if (!lock) { answer(null); return undefined; }
          return new Promise((end) => answer(end));
        }).catch(() => answer(null));
      });
      if (free) return free;
    }
    return null;
  };

  const stop = () => {
    run += 1;
    clearTimeout(timer);
    stream?.close();
    release?.();
    stream = release = null;
  };
  // What a step that waited does next counts only if the window was not hidden meanwhile.
  const later = (step, delay) => { const mine = run; timer = setTimeout(() => { if (mine === run) step(); }, delay); };

  const lost = (status) => {
    stream?.close();
    stream = null;
    failures += 1;
    if (status === 403) show("Ended", "off", "replaced");
    else if (failures >= TRIES) show("Ended", "off", "ended");
    else show("Reconnecting", "off");
    later(ask, Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS));
  };

  const ask = async () => {
    const mine = run;
    let status = 0, now = "";
    try {
      const answer = await fetch(`/changed?${query()}`, { cache: "no-store", credentials: "same-origin" });
      status = answer.status;
      if (status === 200) now = (await answer.json()).seen;
    } catch { status = 0; }
    if (mine !== run) return;
    if (status !== 200) { lost(status); return; }
    connected();
    if (now !== seen) changed(now);
    begin();
  };

  const open = () => {
    stream = new EventSource(`/events?${query()}`);
    stream.addEventListener("open", connected);
    stream.addEventListener("nexus-change", (event) => changed(JSON.parse(event.data).seen));
    // Its own retries would not say why it failed.
    stream.addEventListener("error", () => lost(0));
  };

  const begin = async () => {
    const mine = run;
    const free = release || await take();
    if (mine !== run) { if (free !== release) free?.(); return; }
    release = free;
    if (release) open();
    else if (state.dataset.state === "on") later(ask, ASK_MS);
    else ask();
  };

  // A page that could not be read again after a change: no event names that change a second time.
  content.addEventListener("htmx:error", () => {
    if (state.dataset.state === "on") setTimeout(change, 1500);
    else isStale = true;
  });
  const start = () => { stop(); if (!document.hidden) begin(); };
  document.addEventListener("visibilitychange", start);
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) start(); });
  // After htmx, which begins then, too: it reads the page again at the first change.
  document.addEventListener("DOMContentLoaded", () => setTimeout(start));
})();
