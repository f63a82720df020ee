// Draw the tasks as a graph: laid out by dagre, as SVG, with zoom, pan and selection. All texts are text nodes.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 190, HEIGHT = 46, CHARACTERS = 25, MANY = 60;
  const $ = (id) => document.getElementById(id);
  let view = null, selected = null, size = { width: 1, height: 1 }, svg = null, world = null, data = null, wasTouched = false;

  const make = (name, attributes = {}, ...children) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const html = (name, text = "", attributes = {}) => {
    const element = document.createElement(name);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const NAMES = { waiting: "Waiting", ready: "Ready", in_progress: "In progress", done: "Done", missing: "Missing" };
  const cut = (text) => {
    const letters = [...new Intl.Segmenter().segment(text)].map((one) => one.segment);
    let width = 0, at = 0;
    // Wide scripts and emoji take two columns.
    while (at < letters.length && (width += /[\u1100-\uffdc]|\p{Extended_Pictographic}/u.test(letters[at]) ? 1.8 : 1) <= CHARACTERS) at += 1;
    return at < letters.length ? `${letters.slice(0, at).join("")}…` : text;
  };

  const draw = () => {
    const box = $("graph"), source = $("graph-data");
    if (!box || !source) return;
    data = JSON.parse(source.dataset.json);
    const hasDone = data.nodes.some((node) => node.state === "done");
    const check = $("graph-done");
    check.closest("label").hidden = !hasDone;
    if (!wasTouched) check.checked = hasDone && data.nodes.length <= MANY;
    const nodes = data.nodes.filter((node) => check.checked || node.state !== "done");
    const known = new Set(nodes.map((node) => node.id));
    const edges = data.edges.filter((edge) => known.has(edge.from) && known.has(edge.to));
    if (!nodes.length) {
      box.replaceChildren(html("p", "All tasks are done. Show done tasks to see them.", { class: "muted graph-empty" }));
      svg = null;
      return;
    }

    const linked = new Set(edges.flatMap((edge) => [edge.from, edge.to]));
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 64, marginx: 20, marginy: 20, ranker: nodes.length > 150 ? "tight-tree" : "network-simplex" });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const node of nodes) if (linked.has(node.id)) graph.setNode(String(node.id), { width: WIDTH, height: HEIGHT });
    for (const edge of edges) graph.setEdge(String(edge.from), String(edge.to), {});
    if (linked.size) dagre.layout(graph);
    const bounds = linked.size ? graph.graph() : { width: 20, height: 20 };
    // Tasks without any dependency stand in rows below the others, not in one tall column.
    const alone = nodes.filter((node) => !linked.has(node.id));
    const columns = Math.max(1, Math.min(Math.ceil(Math.sqrt(alone.length * 2)), Math.max(4, Math.floor(bounds.width / (WIDTH + 14)))));
    const places = new Map();
    for (const node of nodes) if (linked.has(node.id)) places.set(node.id, graph.node(String(node.id)));
    alone.forEach((node, at) => places.set(node.id, {
      x: 20 + WIDTH / 2 + (at % columns) * (WIDTH + 14),
      y: (linked.size ? bounds.height + 24 : 20) + HEIGHT / 2 + Math.floor(at / columns) * (HEIGHT + 14),
    }));
    size = {
      width: Math.max(bounds.width, ...[...places.values()].map((place) => place.x + WIDTH / 2 + 20)),
      height: Math.max(bounds.height, ...[...places.values()].map((place) => place.y + HEIGHT / 2 + 20)),
    };

    const lines = make("g", { class: "edges" }), boxes = make("g", { class: "nodes" });
    for (const edge of edges) {
      const points = graph.edge(String(edge.from), String(edge.to))?.points;
      if (!points) continue;
      lines.append(make("path", {
        d: curve(points), "marker-end": `url(#arrow${edge.in_cycle ? "-cycle" : edge.is_critical ? "-critical" : ""})`,
        class: `edge${edge.is_critical ? " is-critical" : ""}${edge.in_cycle ? " in-cycle" : ""}`, "data-from": edge.from, "data-to": edge.to,
      }));
    }
    for (const node of nodes) {
      const { x, y } = places.get(node.id);
      const word = NAMES[node.state];
      const title = node.state === "missing" ? "No task has this id" : node.title;
      const shown = cut(title), top = `#${node.id} · ${word}${node.in_cycle ? " · cycle" : ""}`;
      // The name begins with the text that is seen, so that a spoken command finds it.
      const label = `${top} ${shown}${shown === title ? "" : `: ${title}`}${node.is_critical ? ", on the critical path" : ""}`;
      const group = make("g", {
        class: `node state-${node.state}${node.is_critical ? " is-critical" : ""}${node.in_cycle ? " in-cycle" : ""}`,
        transform: `translate(${x - WIDTH / 2},${y - HEIGHT / 2})`, tabindex: "0", role: "button", "aria-label": label, "data-id": node.id,
      });
      const name = make("text", { x: 12, y: 34, class: "node-title" });
      name.textContent = shown;
      const head = make("text", { x: 12, y: 17, class: "node-head" });
      head.textContent = top;
      group.append(make("rect", { width: WIDTH, height: HEIGHT, rx: 8, class: "node-box" }), make("rect", { width: 4, height: HEIGHT - 16, x: 0, y: 8, rx: 2, class: "node-mark" }), head, " ", name);
      boxes.append(group);
    }
    const marker = (id) => make("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto", class: id }, make("path", { d: "M0 0.5 7 4 0 7.5z" }));
    world = make("g", {}, lines, boxes);
    svg = make("svg", { role: "group", "aria-label": "Graph of the tasks. Arrow keys go along the dependencies." }, make("defs", {}, marker("arrow"), marker("arrow-critical"), marker("arrow-cycle")), world);
    box.replaceChildren(svg);
    if (view) place(); else fit(READABLE);
    select(known.has(selected) ? selected : null);
  };

  const curve = (points) => {
    let d = `M${points[0].x} ${points[0].y}`;
    for (let at = 1; at < points.length - 1; at += 1) {
      const next = points[at + 1], here = points[at];
      const x = at === points.length - 2 ? next.x : (here.x + next.x) / 2, y = at === points.length - 2 ? next.y : (here.y + next.y) / 2;
      d += ` Q${here.x} ${here.y} ${x} ${y}`;
    }
    if (points.length === 2) d += ` L${points[1].x} ${points[1].y}`;
    return d;
  };

  const place = () => world?.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.scale})`);
  // The smallest scale at which titles can be read: a large graph begins at its first tasks instead of showing dust.
  const READABLE = 0.8;
  const fit = (least = 0) => {
    if (!svg) return;
    const { clientWidth: width, clientHeight: height } = $("graph");
    const scale = Math.max(Math.min(width / size.width, height / size.height, 1), least);
    const middle = (room, length) => (room > length * scale ? (room - length * scale) / 2 : 0);
    view = { scale, x: middle(width, size.width), y: middle(height, size.height) };
    place();
  };
  const zoom = (factor, x, y) => {
    if (!view) return;
    const scale = Math.min(3, Math.max(0.08, view.scale * factor));
    view = { scale, x: x - (x - view.x) * (scale / view.scale), y: y - (y - view.y) * (scale / view.scale) };
    place();
  };
  const zoomCentre = (factor) => zoom(factor, $("graph").clientWidth / 2, $("graph").clientHeight / 2);

  const reach = (id, from, to) => {
    const found = new Set(), left = [id];
    while (left.length) {
      const here = left.pop();
      for (const edge of data.edges) if (edge[from] === here && !found.has(edge[to])) { found.add(edge[to]); left.push(edge[to]); }
    }
    return found;
  };

  const select = (id) => {
    selected = id;
    const side = $("graph-side");
    if (!svg || !side) return;
    svg.classList.toggle("has-selection", id !== null);
    const node = id === null ? null : data.nodes.find((one) => one.id === id);
    const before = node ? reach(id, "to", "from") : new Set(), after = node ? reach(id, "from", "to") : new Set();
    for (const element of svg.querySelectorAll(".node")) {
      const own = Number(element.dataset.id);
      element.classList.toggle("is-selected", own === id);
      element.classList.toggle("is-related", before.has(own) || after.has(own));
      element.setAttribute("aria-pressed", String(own === id));
    }
    for (const element of svg.querySelectorAll(".edge")) {
      const from = Number(element.dataset.from), to = Number(element.dataset.to);
      element.classList.toggle("is-related", (to === id || before.has(to)) && before.has(from) || (from === id || after.has(from)) && after.has(to));
    }
    side.replaceChildren();
    side.hidden = !node;
    if (!node) return;
    const close = html("button", "×", { type: "button", "aria-label": "Close", class: "close" });
    close.addEventListener("click", () => select(null));
    const heading = html("h2", node.title || "No task has this id", { dir: "auto" });
    side.append(close, html("p", `#${node.id}`, { class: "num" }), heading, html("span", NAMES[node.state], { class: `chip state-${node.state}` }));
    if (node.is_critical) side.append(" ", html("span", "Critical path", { class: "chip critical" }));
    if (node.in_cycle) side.append(" ", html("span", "In a cycle", { class: "chip danger" }));
    if (node.owner) side.append(html("p", node.owner, { class: "muted", dir: "auto" }));
    for (const [label, ids] of [["Waits for", data.edges.filter((edge) => edge.to === id).map((edge) => edge.from)], ["Before", data.edges.filter((edge) => edge.from === id).map((edge) => edge.to)]]) {
      if (!ids.length) continue;
      const list = html("ul", "", { class: "plain-list" });
      for (const other of ids) {
        const item = html("li"), button = html("button", `#${other} ${data.nodes.find((one) => one.id === other)?.title ?? ""}`, { type: "button", class: "link", dir: "auto" });
        button.addEventListener("click", () => { select(other); reveal(other); });
        item.append(button);
        list.append(item);
      }
      side.append(html("h3", label), list);
    }
  };

  const reveal = (id) => {
    const element = svg?.querySelector(`[data-id="${CSS.escape(String(id))}"]`);
    if (!element) return;
    element.focus({ preventScroll: true });
    const box = $("graph").getBoundingClientRect(), own = element.getBoundingClientRect();
    const clamp = (low, high, from, to) => (low < from + 12 ? from + 12 - low : high > to - 12 ? to - 12 - high : 0);
    view.x += clamp(own.left, own.right, box.left, box.right);
    view.y += clamp(own.top, own.bottom, box.top, box.bottom);
    place();
  };

  const step = (id, key) => {
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const [own, other] = key === "ArrowLeft" ? ["to", "from"] : ["from", "to"];
      return data.edges.filter((edge) => edge[own] === id).map((edge) => edge[other]).find((one) => svg.querySelector(`[data-id="${CSS.escape(String(one))}"]`));
    }
    const boxes = [...svg.querySelectorAll(".node")].map((element) => ({ id: Number(element.dataset.id), at: element.getBoundingClientRect() }));
    const here = boxes.find((one) => one.id === id).at, sign = key === "ArrowUp" ? -1 : 1;
    const ranked = boxes.filter((one) => sign * (one.at.top - here.top) > 4).sort((a, b) => Math.hypot(a.at.top - here.top, 3 * (a.at.left - here.left)) - Math.hypot(b.at.top - here.top, 3 * (b.at.left - here.left)));
    return ranked[0]?.id;
  };

  // Pointers: one drags, two pinch. A press that does not move selects.
  const pointers = new Map();
  let moved = 0;
  const listen = () => {
    const box = $("graph");
    if (!box || box.dataset.ready) return;
    box.dataset.ready = "yes";
    box.addEventListener("wheel", (event) => {
      event.preventDefault();
      const at = box.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - at.left, event.clientY - at.top);
    }, { passive: false });
    box.addEventListener("pointerdown", (event) => { pointers.set(event.pointerId, event); moved = 0; });
    box.addEventListener("pointermove", (event) => {
      const old = pointers.get(event.pointerId);
      if (!old || !view) return;
      const others = [...pointers.values()].filter((one) => one.pointerId !== event.pointerId);
      moved += Math.hypot(event.clientX - old.clientX, event.clientY - old.clientY);
      if (moved > 4) box.setPointerCapture(event.pointerId);
      if (others.length === 1) {
        const far = (one) => Math.hypot(one.clientX - others[0].clientX, one.clientY - others[0].clientY);
        const at = box.getBoundingClientRect();
        zoom(far(event) / (far(old) || 1), (event.clientX + others[0].clientX) / 2 - at.left, (event.clientY + others[0].clientY) / 2 - at.top);
      } else if (!others.length) {
        view.x += event.clientX - old.clientX;
        view.y += event.clientY - old.clientY;
        place();
      }
      pointers.set(event.pointerId, event);
    });
    const end = (event) => pointers.delete(event.pointerId);
    box.addEventListener("pointerup", end);
    box.addEventListener("pointercancel", end);
    box.addEventListener("click", (event) => {
      if (moved > 4) return;
      const node = event.target.closest?.(".node");
      select(node ? Number(node.dataset.id) : null);
    });
    box.addEventListener("keydown", (event) => {
      const node = event.target.closest?.(".node");
      if (event.key === "Escape") { select(null); return; }
      if (event.key === "+" || event.key === "=") zoomCentre(1.25);
      else if (event.key === "-") zoomCentre(0.8);
      else if (event.key === "0") fit();
      else if (node && (event.key === "Enter" || event.key === " ")) select(Number(node.dataset.id));
      else if (node && event.key.startsWith("Arrow")) {
        const next = step(Number(node.dataset.id), event.key);
        if (next !== undefined) { select(next); reveal(next); }
      } else return;
      event.preventDefault();
    });
    box.addEventListener("focusin", (event) => { const node = event.target.closest?.(".node"); if (node && node.matches(":focus-visible")) reveal(Number(node.dataset.id)); });
    new ResizeObserver(() => { if (svg && !wasTouched && selected === null) fit(READABLE); }).observe(box);
  };
  document.addEventListener("click", (event) => {
    if (event.target.id === "graph-in") zoomCentre(1.25);
    else if (event.target.id === "graph-out") zoomCentre(0.8);
    else if (event.target.id === "graph-fit") fit();
  });
  document.addEventListener("change", (event) => {
    if (event.target.id !== "graph-done") return;
    wasTouched = true;
    view = null;
    draw();
  });
  document.addEventListener("nexus-updated", () => { listen(); draw(); });
  listen();
  draw();
})();
