// What every page does: ages, colours, filters of lists, and marks on changed parts.
(() => {
  "use strict";
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);

  // The token of the address has done its work.
  const hasToken = () => location.hash.length > 30;
  if (hasToken()) history.replaceState(null, "", location.pathname + location.search);
  // An address with a token that is pasted over this page, perhaps of a board that was started anew: load the page.
  addEventListener("hashchange", () => { if (hasToken()) location.reload(); });

  // Colours: as the system has them, or as the user chooses.
  $("theme")?.addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    try { localStorage.setItem("nexus-theme", root.dataset.theme); } catch { /* for this page only */ }
    document.dispatchEvent(new Event("nexus-theme"));
  });

  // Where the views do not fit: show the present one. Not scrollIntoView, which also moves where Tab begins.
  const here = document.querySelector(".tabs [aria-current]");
  if (here) here.parentElement.scrollLeft = here.offsetLeft + here.offsetWidth - here.parentElement.clientWidth - here.parentElement.offsetLeft;

  // Ages, in the words of the server.
  const age = (stamp) => {
    const seconds = (Date.now() - Date.parse(stamp)) / 1000;
    if (!(seconds >= 0) || seconds >= 30 * 86400) return stamp.slice(0, 10);
    if (seconds < 60) return "just now";
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
    return seconds < 86400 ? `${Math.floor(seconds / 3600)} h ago` : `${Math.floor(seconds / 86400)} d ago`;
  };
  const refreshAges = () => {
    for (const time of document.querySelectorAll("time[data-age]")) {
      const text = age(time.dateTime);
      if (time.textContent !== text) time.textContent = text;
    }
  };
  refreshAges();
  setInterval(() => { if (!document.hidden) refreshAges(); }, 30000);

  // Filters over the items that are on the page.
  const isStatic = !$("live");
  const filter = () => {
    const value = {};
    for (const input of document.querySelectorAll("[data-filter]")) {
      if (!isStatic && input.name) continue; // the server filters these
      value[input.dataset.filter] = input.value;
    }
    if (!Object.keys(value).length) return;
    const words = (value.text || "").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0, all = 0;
    for (const item of document.querySelectorAll("[data-item]")) {
      const text = item.textContent.toLowerCase();
      const fits = words.every((word) => text.includes(word)) &&
        (!value.owner || item.dataset.owner === value.owner) &&
        (!value.branch || item.dataset.branch === value.branch) &&
        (!value.since || item.dataset.date >= value.since) &&
        (!value.until || item.dataset.date <= value.until);
      item.hidden = !fits;
      all += 1;
      shown += fits ? 1 : 0;
    }
    for (const column of document.querySelectorAll(".column")) {
      const tally = column.querySelector(".tally");
      const items = [...column.querySelectorAll("[data-item]")];
      if (tally) tally.textContent = items.filter((item) => !item.hidden).length;
    }
    const result = $("filter-result");
    const isUsed = Object.values(value).some(Boolean);
    if (result) result.textContent = isUsed ? `${shown} of ${all}` : isStatic && result.closest("#results") ? `${all}` : "";
  };
  document.addEventListener("input", (event) => { if (event.target.dataset?.filter) filter(); });
  document.addEventListener("change", (event) => { if (event.target.dataset?.filter) filter(); });
  for (const form of document.querySelectorAll("form#filters")) {
    form.addEventListener("submit", (event) => { if (isStatic) event.preventDefault(); });
  }

  // A card that a link names: open it, and show where it is.
  const aim = () => {
    const card = /^#task-[\d.]+$/.test(location.hash) && $(location.hash.slice(1));
    if (card) card.querySelector("details")?.setAttribute("open", "");
  };
  addEventListener("hashchange", aim);
  aim();

  // "/" goes to the search, as in many programs.
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, select, textarea")) return;
    const search = document.querySelector("input[type=search]");
    if (search) { event.preventDefault(); search.focus(); search.select(); }
  });

  if (isStatic) return;

  const live = $("live");

  // What changed: the parts whose revision differs from before the page was read again.
  let before = new Map(), isLive = false;
  const revisions = () => new Map([...document.querySelectorAll("[data-key]")].map((part) => [part.dataset.key, part.dataset.rev]));
  live.addEventListener("nexus-change", () => { before = revisions(); isLive = true; });
  document.addEventListener("htmx:after:swap", () => {
    refreshAges();
    filter();
    if (!isLive) return;
    isLive = false;
    const labels = [];
    for (const part of document.querySelectorAll("[data-key]")) {
      if (before.get(part.dataset.key) === part.dataset.rev) continue;
      part.classList.remove("is-changed");
      void part.getBoundingClientRect(); // begins the animation anew
      part.classList.add("is-changed");
      setTimeout(() => part.classList.remove("is-changed"), 8000);
      labels.push(part.dataset.label);
    }
    if (labels.length) $("announce").textContent = `Changed: ${labels.slice(0, 5).join(", ")}${labels.length > 5 ? ` and ${labels.length - 5} more` : ""}`;
    document.dispatchEvent(new Event("nexus-updated"));
  });
})();
