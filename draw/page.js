"use strict";
/* Pictures of whole graphs: pan, zoom, search. */
for (const view of document.querySelectorAll(".view")) {
  const svg = view.querySelector("svg");
  if (!svg) continue;
  const whole = svg.viewBox.baseVal;
  const all = { x: whole.x, y: whole.y, w: whole.width, h: whole.height };
  let box;
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  const show = () => svg.setAttribute("viewBox", [box.x, box.y, box.w, box.h].join(" "));
  /* Where a node's text stands, as the view box counts. */
  const placeOf = text => ({
    x: all.x + Number(text.getAttribute("x")) + 4,
    y: all.y + all.h + Number(text.getAttribute("y")) - 4,
  });
  /* The uppermost operator: wide graphs have nothing in the middle of their top. */
  const top = [...svg.querySelectorAll(".node:not(.leaf) text")].map(placeOf)
    .reduce((a, b) => (a && a.y <= b.y ? a : b), null);
  /* One to one, from the top, where the whole would be too small to read. */
  const start = () => {
    const r = view.getBoundingClientRect();
    const scale = Math.min(Math.max(all.w / r.width, all.h / r.height), 1.1);
    box = { w: r.width * scale, h: r.height * scale, y: all.y };
    box.x = top && box.w < all.w ? top.x - box.w / 2 : all.x + (all.w - box.w) / 2;
    if (top && box.h < all.h) box.y = Math.max(all.y, top.y - box.h / 5);
    if (box.h > all.h) box.y -= (box.h - all.h) / 2;
    show();
  };
  const fit = () => { box = { ...all }; show(); };
  const scale = () => {
    const r = view.getBoundingClientRect();
    return Math.max(box.w / r.width, box.h / r.height);
  };
  const zoom = (factor, fx = 0.5, fy = 0.5) => {
    box.x += box.w * (1 - factor) * fx;
    box.y += box.h * (1 - factor) * fy;
    box.w *= factor;
    box.h *= factor;
    show();
  };
  const move = (dx, dy) => { box.x += dx; box.y += dy; show(); };
  start();
  view.addEventListener("wheel", e => {
    if (!e.ctrlKey && document.activeElement !== view) return;
    e.preventDefault();
    const r = view.getBoundingClientRect();
    zoom(e.deltaY > 0 ? 1.15 : 0.87, (e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height);
  }, { passive: false });
  view.addEventListener("pointerdown", e => { view.setPointerCapture(e.pointerId); view.focus(); });
  view.addEventListener("pointermove", e => {
    if (e.buttons) move(-e.movementX * scale(), -e.movementY * scale());
  });
  view.addEventListener("keydown", e => {
    const step = 60 * scale();
    const keys = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (keys[e.key]) move(...keys[e.key]);
    else if (e.key === "+" || e.key === "=") zoom(0.8);
    else if (e.key === "-") zoom(1.25);
    else if (e.key === "0") fit();
    else return;
    e.preventDefault();
  });
  const tools = view.previousElementSibling;
  if (!tools || !tools.classList.contains("tools")) continue;
  const act = { in: () => zoom(0.8), out: () => zoom(1.25), fit, start };
  for (const b of tools.querySelectorAll("button"))
    b.addEventListener("click", act[b.dataset.act]);
  const search = tools.querySelector("input"), count = tools.querySelector("output");
  let place = 0;
  const find = next => {
    const word = search.value.trim().toLowerCase();
    const hits = [];
    for (const node of svg.querySelectorAll(".node")) {
      const hit = word !== "" && node.textContent.toLowerCase().includes(word);
      node.classList.toggle("found", hit);
      if (hit) hits.push(node);
    }
    count.textContent = word ? hits.length + " found" : "";
    if (!hits.length) return;
    place = next ? (place + 1) % hits.length : 0;
    const text = hits[place].querySelector("text");
    if (text) {
      const p = placeOf(text);
      box.x = p.x - box.w / 2;
      box.y = p.y - box.h / 2;
      show();
    }
  };
  search.addEventListener("input", () => find(false));
  search.addEventListener("keydown", e => { if (e.key === "Enter") find(true); });
}
/* The list of rules: search and filters. */
const rules = document.querySelectorAll(".rule");
if (rules.length) {
  const word = document.getElementById("word");
  const picks = document.querySelectorAll("select[data-key]");
  const shown = document.getElementById("shown");
  const more = document.getElementById("more");
  let limit = 50;
  const filter = () => {
    const words = word.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const r of rules) {
      const text = r.dataset.text;
      const fits = words.every(w => text.includes(w)) && [...picks].every(p => p.value === "" ||
        (" " + r.dataset[p.dataset.key] + " ").includes(" " + p.value + " "));
      if (fits) n++;
      r.classList.toggle("hidden", !fits || n > limit);
    }
    shown.textContent = n + " of " + rules.length + " rules";
    more.classList.toggle("hidden", n <= limit);
  };
  const again = () => { limit = 50; filter(); };
  word.addEventListener("input", again);
  for (const p of picks) p.addEventListener("change", again);
  more.addEventListener("click", () => { limit += 200; filter(); });
  document.addEventListener("keydown", e => {
    if (e.key === "/" && document.activeElement !== word) { word.focus(); e.preventDefault(); }
  });
  if (location.hash) word.value = location.hash.slice(1);
  filter();
}
