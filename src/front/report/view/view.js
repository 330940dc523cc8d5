"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const svg = $("svg"), side = $("side"), search = $("search"), found = $("found");
  const full = svg.getAttribute("viewBox").split(" ").map(Number);
  const boxes = data.boxes.map((_, i) => $("b" + i));
  const at = boxes.map((b) => b.transform.baseVal.consolidate().matrix);
  const into = data.boxes.map(() => []), out = data.boxes.map(() => []);
  for (let i = 0; i < data.edges.length; i += 3) {
    const [from, to, kinds] = data.edges.slice(i, i + 3);
    out[from].push([to, kinds]);
    into[to].push([from, kinds]);
  }
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  const make = (name, attributes) => {
    const it = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [k, v] of Object.entries(attributes)) it.setAttribute(k, v);
    return it;
  };
  const over = $("drawing").appendChild(make("g", { id: "over" }));

  /* The part of the drawing that is seen: its corner, and drawing units per pixel. */
  let view = { x: 0, y: 0, scale: 1 };
  const show = () => {
    const w = svg.clientWidth * view.scale, h = svg.clientHeight * view.scale;
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${w} ${h}`);
  };
  const fit = () => {
    const scale = Math.max(full[2] / svg.clientWidth, full[3] / svg.clientHeight, 0.8);
    view = { x: (full[2] - svg.clientWidth * scale) / 2, y: 0, scale };
    if (scale > 0.8) view.y = (full[3] - svg.clientHeight * scale) / 2;
    show();
  };
  /* A picture too large to be read whole starts at its beginning, readable. */
  const start = () => {
    fit();
    if (view.scale <= 1.8) return;
    const scale = Math.max(1, Math.min(1.5, full[2] / svg.clientWidth));
    view = { x: 0, y: 0, scale };
    show();
  };
  const zoom = (by, px = svg.clientWidth / 2, py = svg.clientHeight / 2) => {
    const scale = Math.min(40, Math.max(0.2, view.scale * by));
    view.x += px * (view.scale - scale);
    view.y += py * (view.scale - scale);
    view.scale = scale;
    show();
  };
  const pan = (dx, dy) => {
    view.x += dx * view.scale;
    view.y += dy * view.scale;
    show();
  };

  /* Where a box is in the drawing: the margin, and its own place. */
  const margin = $("view").transform.baseVal.consolidate().matrix;
  const centre = (i) => {
    view.scale = Math.min(view.scale, 1.4);
    view.x = at[i].e + margin.e - (svg.clientWidth * view.scale) / 2;
    view.y = at[i].f + margin.f - (svg.clientHeight * view.scale) / 2;
    show();
  };

  let picked = -1;
  const link = (a, b, kinds, incoming) => {
    const x1 = at[a].e, y1 = at[a].f + 19, x2 = at[b].e, y2 = at[b].f - 19;
    const bend = Math.max(24, Math.abs(y2 - y1) / 2);
    const kind = kinds & 1 ? "" : " ctrl";
    over.append(make("path", {
      class: (incoming ? "in" : "out") + kind,
      d: `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`,
    }));
  };
  const mark = (i) => {
    over.textContent = "";
    for (const b of svg.querySelectorAll(".hot,.near")) b.classList.remove("hot", "near");
    svg.classList.toggle("pick", i >= 0);
    if (i < 0) return;
    boxes[i].classList.add("hot");
    for (const [other, kinds] of into[i]) {
      boxes[other].classList.add("near");
      link(other, i, kinds, true);
    }
    for (const [other, kinds] of out[i]) {
      boxes[other].classList.add("near");
      link(i, other, kinds, false);
    }
  };
  const text = (name, value) => {
    const it = document.createElement(name);
    it.textContent = value;
    return it;
  };
  const list = (title, edges) => {
    if (!edges.length) return;
    side.append(text("h3", `${title} (${edges.length})`));
    const ul = side.appendChild(document.createElement("ul"));
    for (const [other, kinds] of edges.slice(0, 200)) {
      const words = [kinds & 1 && "data", kinds & 2 && "control", kinds & 4 && "through others"];
      const button = text("button", `${data.boxes[other].id} ${data.boxes[other].name}`);
      button.title = words.filter(Boolean).join(" and ");
      button.onclick = () => pick(other, true);
      ul.appendChild(document.createElement("li")).append(button);
    }
  };
  const pick = (i, move) => {
    picked = i;
    mark(i);
    side.hidden = i < 0;
    side.textContent = "";
    if (i < 0) return show();
    const box = data.boxes[i];
    side.append(text("h2", box.name));
    const dl = side.appendChild(document.createElement("dl"));
    for (const [key, value] of box.facts) dl.append(text("dt", key), text("dd", value));
    list("depends on", into[i]);
    list("needed by", out[i]);
    show();
    if (move) centre(i);
  };

  /* Search by name, kind or id. */
  let hits = [], hit = -1;
  const find = () => {
    const want = search.value.trim().toLowerCase();
    for (const i of hits) boxes[i].classList.remove("hit");
    hits = [];
    hit = -1;
    if (want)
      data.boxes.forEach((b, i) => {
        if (b.id === want || b.find.includes(want)) hits.push(i);
      });
    for (const i of hits) boxes[i].classList.add("hit");
    found.textContent = want ? `${hits.length} found` : "";
  };
  const next = (step) => {
    if (!hits.length) return;
    hit = (hit + step + hits.length) % hits.length;
    found.textContent = `${hit + 1} of ${hits.length}`;
    pick(hits[hit], true);
  };
  search.oninput = find;
  search.onkeydown = (e) => {
    if (e.key === "Enter") next(e.shiftKey ? -1 : 1);
    else if (e.key === "Escape") svg.focus();
    else return;
    e.preventDefault();
  };

  const boxAt = (target) => {
    const g = target.closest && target.closest(".n");
    return g && g.id ? Number(g.id.slice(1)) : -1;
  };
  svg.addEventListener("pointerover", (e) => {
    const i = boxAt(e.target);
    if (picked < 0 && !drag) mark(i);
  });
  svg.addEventListener("pointerleave", () => picked < 0 && mark(-1));

  /* Drag with one pointer, pinch with two. */
  const pointers = new Map();
  let drag = false, moved = 0;
  svg.addEventListener("pointerdown", (e) => {
    pointers.set(e.pointerId, e);
    moved = 0;
  });
  svg.addEventListener("pointermove", (e) => {
    const last = pointers.get(e.pointerId);
    if (!last) return;
    const dx = e.clientX - last.clientX, dy = e.clientY - last.clientY;
    moved += Math.abs(dx) + Math.abs(dy);
    if (pointers.size === 2) {
      const other = [...pointers.values()].find((p) => p.pointerId !== e.pointerId);
      const far = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
      const box = svg.getBoundingClientRect();
      zoom(far(last) / Math.max(1, far(e)), other.clientX - box.x, other.clientY - box.y);
    } else if (moved > 4) {
      if (!drag) svg.setPointerCapture(e.pointerId);
      drag = true;
      svg.classList.add("drag");
      pan(-dx, -dy);
    }
    pointers.set(e.pointerId, e);
  });
  const up = (e) => {
    pointers.delete(e.pointerId);
    if (!drag && e.type === "pointerup") pick(boxAt(e.target), false);
    drag = false;
    svg.classList.remove("drag");
  };
  svg.addEventListener("pointerup", up);
  svg.addEventListener("pointercancel", up);
  svg.addEventListener("wheel", (e) => {
    e.preventDefault();
    const box = svg.getBoundingClientRect();
    if (e.ctrlKey || !e.shiftKey)
      zoom(Math.exp(e.deltaY * 0.0015), e.clientX - box.x, e.clientY - box.y);
    else pan(e.deltaY, 0);
  }, { passive: false });

  const step = (edges) => {
    const list = picked >= 0 ? edges[picked] : [];
    if (list.length) pick(list[0][0], true);
  };
  const keys = {
    ArrowLeft: () => pan(-80, 0),
    ArrowRight: () => pan(80, 0),
    ArrowUp: () => pan(0, -80),
    ArrowDown: () => pan(0, 80),
    "+": () => zoom(0.8),
    "=": () => zoom(0.8),
    "-": () => zoom(1.25),
    0: fit,
    "/": () => search.focus(),
    n: () => next(1),
    p: () => next(-1),
    "]": () => pick((picked + 1) % boxes.length, true),
    "[": () => pick(picked > 0 ? picked - 1 : boxes.length - 1, true),
    d: () => step(out),
    u: () => step(into),
    Escape: () => pick(-1, false),
  };
  document.addEventListener("keydown", (e) => {
    if (e.target === search || e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });
  $("in").onclick = () => zoom(0.8);
  $("out").onclick = () => zoom(1.25);
  $("fit").onclick = fit;
  addEventListener("resize", show);
  start();
})();
