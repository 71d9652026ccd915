// The map of nodes: colours the tiles, or draws all nodes on a canvas, from the binary frames of `node_map.py`.
(() => {
  "use strict";
  const NAMES = ["", "passed", "not-yet", "never", "winner"];
  const VERDICTS = 1, LAYOUT = 2, USAGE = 3;
  const root = document.documentElement;
  let said = new Map(), low = 0, high = 0; // node -> { verdict, total }
  let zones = [], nodes = new Map(), spots = [], focus = 0, drawn = false;

  const take = (buffer) => {
    const view = new DataView(buffer), kind = view.getUint8(0);
    if (kind === LAYOUT) takeLayout(buffer);
    else if (kind === USAGE) takeUsage(view, buffer);
    else if (kind === VERDICTS) takeVerdicts(view, buffer);
    refresh(true);
  };
  const takeVerdicts = (view, buffer) => {
    const n = view.getUint32(4, true);
    low = view.getInt32(8, true);
    high = view.getInt32(12, true);
    const ids = new Uint32Array(buffer, 16, n), totals = new Int32Array(buffer, 16 + 4 * n, n), verdicts = new Uint8Array(buffer, 16 + 8 * n, n);
    said = new Map();
    for (let i = 0; i < n; i++) said.set(ids[i], { verdict: verdicts[i], total: totals[i] });
  };
  const takeLayout = (buffer) => {
    zones = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 1)));
    nodes = new Map();
    for (const [zone, rows] of zones) {
      for (const [id, name, cpu, memory, pods, flags] of rows) nodes.set(id, { id, zone, name, cpu, memory, pods, flags });
    }
  };
  const takeUsage = (view, buffer) => {
    const n = view.getUint32(4, true);
    const ids = new Uint32Array(buffer, 8, n), parts = new Uint8Array(buffer, 8 + 4 * n, 4 * n);
    for (let i = 0; i < n; i++) {
      const node = nodes.get(ids[i]);
      if (node) [node.cpu, node.memory, node.pods, node.flags] = parts.subarray(4 * i, 4 * i + 4);
    }
  };
  const heat = (total) => high > low ? (total - low) / (high - low) : 1;

  // ---- tiles ----------------------------------------------------------------------------------
  const paint = (tile) => {
    const here = said.get(Number(tile.dataset.n)), score = tile.querySelector(".score");
    const verdict = here ? NAMES[here.verdict] : "";
    if (tile.dataset.verdict !== verdict) tile.dataset.verdict = verdict;
    const passed = here && (verdict === "passed" || verdict === "winner");
    const text = !here ? "" : passed ? (here.total ? String(here.total) : "●") : verdict === "never" ? "◆" : "▲";
    if (score.textContent !== text) score.textContent = text;
    tile.style.setProperty("--heat", passed ? (6 + 44 * heat(here.total)).toFixed(0) + "%" : "0%");
  };

  // ---- canvas ---------------------------------------------------------------------------------
  const draw = () => {
    const canvas = document.getElementById("node-canvas");
    if (!canvas || !zones.length) return;
    const colours = getComputedStyle(root), colour = (name) => colours.getPropertyValue(name).trim();
    const width = canvas.clientWidth, gap = 18, ratio = devicePixelRatio || 1;
    const across = Math.max(1, Math.min(zones.length, Math.floor(width / 260)));
    const zoneWidth = (width - gap * (across - 1)) / across;
    const size = Math.max(7, Math.min(26, Math.floor(Math.sqrt(zoneWidth * across * 330 / nodes.size))));
    const columns = Math.max(1, Math.floor(zoneWidth / size));
    spots = [];
    let x0 = 0, y0 = 0, tallest = 0, column = 0;
    const titles = [];
    for (const [zone, rows] of zones) {
      titles.push([zone || "no zone", rows.length, x0, y0]);
      rows.forEach(([id], i) => spots.push({ id, x: x0 + (i % columns) * size, y: y0 + 18 + Math.floor(i / columns) * size }));
      tallest = Math.max(tallest, 18 + Math.ceil(rows.length / columns) * size);
      column += 1;
      if (column === across) { column = 0; x0 = 0; y0 += tallest + 8; tallest = 0; } else x0 += zoneWidth + gap;
    }
    const height = y0 + tallest + 2;
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "12px " + colour("--mono");
    pen.fillStyle = colour("--soft");
    for (const [zone, n, x, y] of titles) pen.fillText(zone + "  " + n, x, y + 12, zoneWidth);
    const s = size - (size > 10 ? 2 : 1), accent = colour("--accent"), line = colour("--line"), no = colour("--no"), never = colour("--never"), soft = colour("--soft");
    for (const { id, x, y } of spots) {
      const node = nodes.get(id), here = said.get(id), verdict = here ? here.verdict : 0;
      pen.globalAlpha = 1;
      pen.fillStyle = line;
      pen.fillRect(x, y, s, s);
      if (verdict === 1 || verdict === 4) { pen.globalAlpha = 0.15 + 0.75 * heat(here.total); pen.fillStyle = accent; pen.fillRect(x, y, s, s); }
      else if (verdict === 2) { pen.globalAlpha = 0.75; pen.fillStyle = no; pen.beginPath(); pen.moveTo(x, y + s); pen.lineTo(x + s / 2, y); pen.lineTo(x + s, y + s); pen.fill(); }
      else if (verdict === 3) { pen.globalAlpha = 0.75; pen.fillStyle = never; pen.beginPath(); pen.moveTo(x + s / 2, y); pen.lineTo(x + s, y + s / 2); pen.lineTo(x + s / 2, y + s); pen.lineTo(x, y + s / 2); pen.fill(); }
      if (s >= 9) {
        pen.globalAlpha = 0.9;
        pen.fillStyle = soft;
        pen.fillRect(x, y + s - 2, s * node.cpu / 200, 2);
      }
      if (node.flags & 3) { pen.globalAlpha = 1; pen.strokeStyle = never; pen.strokeRect(x + 0.5, y + 0.5, s - 1, s - 1); }
      if (verdict === 4) { pen.globalAlpha = 1; pen.strokeStyle = colour("--ink"); pen.lineWidth = 2; pen.strokeRect(x - 0.5, y - 0.5, s + 1, s + 1); pen.lineWidth = 1; }
    }
    pen.globalAlpha = 1;
    canvas.dataset.size = size;
    if (!canvas.dataset.wired) wire(canvas);
  };
  const wire = (canvas) => {
    canvas.dataset.wired = "1";
    const tip = document.getElementById("node-tip");
    const tell = (spot) => {
      tip.hidden = !spot;
      if (!spot) return;
      const node = nodes.get(spot.id), here = said.get(spot.id);
      const word = !here ? "" : here.verdict === 2 ? "\nrejected, not yet" : here.verdict === 3 ? "\nrejected, never" : (here.verdict === 4 ? "\nchosen" : "\npassed") + (here.total ? ", total " + here.total : "");
      tip.textContent = node.name + "\ncpu " + Math.round(node.cpu / 2) + " %, memory " + Math.round(node.memory / 2) + " % requested" + (node.flags & 1 ? "\ncordoned" : "") + (node.flags & 2 ? "\nnot ready" : "") + word;
      tip.style.left = Math.min(spot.x + 16, canvas.clientWidth - 240) + "px";
      tip.style.top = spot.y + 24 + "px";
    };
    canvas.addEventListener("pointermove", (event) => {
      const size = Number(canvas.dataset.size);
      tell(spots.find((spot) => event.offsetX >= spot.x && event.offsetX < spot.x + size && event.offsetY >= spot.y && event.offsetY < spot.y + size));
    });
    canvas.addEventListener("pointerleave", () => tell(null));
    canvas.addEventListener("blur", () => tell(null));
    canvas.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      focus = Math.min(spots.length - 1, Math.max(0, focus + by));
      tell(spots[focus]);
      event.preventDefault();
    });
  };

  let waiting = false;
  const refresh = (force) => {
    if (waiting && !force) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const map = document.getElementById("map");
      if (!map) return;
      if (map.dataset.mode === "canvas") { if (force || !drawn) draw(); drawn = true; }
      else for (const tile of map.querySelectorAll(".tile")) paint(tile);
    });
  };
  addEventListener("resize", () => refresh(true));
  document.addEventListener("theme-changed", () => refresh(true));
  window.schedvizNodes = { take, refresh, paint };
})();
