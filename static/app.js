// The few things that HTML can't do: time that runs, holding rows still, keys, dialogs, canvases. No state of its own.
(() => {
  "use strict";
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const STALE_SECONDS = 3;

  // ---- time: ages, countdowns, rings ----------------------------------------------------------
  let skew = 0; // the server's clock less ours, from the last frame
  const now = () => Date.now() / 1000 + skew;
  const words = (s) =>
    s < 10 ? `${Math.max(0, s).toFixed(1)} s` : s < 60 ? `${Math.floor(s)} s` : s < 3600 ? `${Math.floor(s / 60)} m ${String(Math.floor(s % 60)).padStart(2, "0")} s` : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} m`;

  function tick() {
    const at = now();
    for (const time of all("time[data-since]")) time.textContent = words(at - Number(time.dataset.since));
    for (const time of all("time[data-until]")) {
      const left = Number(time.dataset.until) - at;
      time.textContent = left > 0 ? words(left) : "now";
    }
    for (const ring of all(".ring")) {
      const since = Number(ring.dataset.since), until = Number(ring.dataset.retryAt);
      const part = until > since ? Math.min(1, Math.max(0, (until - at) / (until - since))) : 0;
      $(".v", ring).setAttribute("stroke-dasharray", `${100 * part} 100`);
    }
    sayLive();
  }

  // ---- live, stale, disconnected --------------------------------------------------------------
  let isOpen = false, framed = 0; // when the last frame came, by our clock
  function sayLive() {
    const chip = $("#live");
    if (!chip || !$("#live-board")) return;
    const silent = framed ? Date.now() / 1000 - framed : 0;
    const word = !framed ? "connecting" : !isOpen ? "disconnected" : chip.dataset.live !== "1" || silent > STALE_SECONDS ? "stale" : chip.dataset.cluster ? "cluster not connected" : "live";
    if ($(".word", chip).textContent !== word) $(".word", chip).textContent = word;
    chip.classList.toggle("on", word === "live");
    chip.classList.toggle("off", word !== "live");
    if (chip.dataset.cluster) chip.title = chip.dataset.cluster;
    $(".age", chip).textContent = Number(chip.dataset.at) ? words(Math.max(0, now() - Number(chip.dataset.at))) : "";
    document.body.classList.toggle("stale", framed > 0 && word !== "live");
  }
  document.addEventListener("htmx:wsOpen", () => { isOpen = true; });
  document.addEventListener("htmx:wsClose", () => { isOpen = false; sayLive(); });

  // ---- rows never jump under the pointer: lanes are held back while it rests there -------------
  let held = [];
  const isHolding = () => Boolean($(".lane:hover, .lane:focus-within"));
  document.addEventListener("htmx:wsBeforeMessage", (event) => {
    const text = event.detail.message;
    framed = Date.now() / 1000;
    const at = /data-live="1" data-at="([\d.]+)"/.exec(text);
    if (at) skew = Math.abs(Number(at[1]) - framed) > 2 ? Number(at[1]) - framed : 0;
    if (!text.startsWith("<!--lanes-->")) return;
    const isFirst = !$(".lane .row");
    if (isHolding() && !isFirst) {
      event.preventDefault();
      held.push(text);
      sayHeld();
    } else release();
  });
  function sayHeld() {
    const pill = $("#held");
    pill.hidden = !held.length;
    pill.textContent = `${held.length} change${held.length === 1 ? "" : "s"} waiting`;
  }
  function release() {
    const texts = held;
    held = [];
    for (const text of texts) swap(text);
    if ($("#held")) sayHeld();
  }
  function swap(text) {
    htmx.swap(document.body, text, { swapStyle: "none" });
  }
  document.addEventListener("pointerover", () => { if (held.length && !isHolding()) release(); });
  document.addEventListener("pointerleave", () => { if (held.length) release(); });
  document.addEventListener("focusout", () => setTimeout(() => { if (held.length && !isHolding()) release(); }));
  document.addEventListener("click", (event) => { if (event.target.id === "held") release(); });

  // ---- what has just come flashes once; the rate becomes a line --------------------------------
  const rates = [];
  document.addEventListener("htmx:oobAfterSwap", (event) => {
    const target = event.detail.target;
    if (target && target.id === "node-map") drawMap();
  });
  new MutationObserver((records) => {
    for (const record of records)
      for (const node of record.addedNodes) {
        if (node.nodeType !== 1) continue;
        if (node.classList.contains("row") && record.target.dataset.filled) node.classList.add("fresh");
        if (node.classList.contains("toast")) setTimeout(() => node.remove(), 8000);
        if (node.id === "nodes") drawMap();
      }
  }).observe(document.documentElement, { childList: true, subtree: true });
  function drawRate(rate) {
    if (Number.isNaN(rate)) return;
    rates.push(rate);
    if (rates.length > 60) rates.shift();
    const spark = $("#spark"), top = Math.max(1, ...rates);
    if (!spark) return;
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", rates.map((r, i) => `${i ? "L" : "M"}${i},${(11 - (10 * r) / top).toFixed(1)}`).join(""));
    spark.replaceChildren(path);
  }
  document.addEventListener("htmx:wsAfterMessage", () => {
    for (const list of all(".lane ol")) list.dataset.filled = "1";
    const rate = $("#rate");
    if (rate && rate.dataset.rate) drawRate(Number(rate.dataset.rate));
    tick();
  });

  // ---- dialogs --------------------------------------------------------------------------------
  const dialog = () => $("#dialog");
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === dialog() && !dialog().open) dialog().showModal();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-close]")) dialog().close();
    if (event.target.closest("#help-open")) $("#help").showModal();
    if (event.target.closest("#theme")) switchTheme();
  });

  // ---- keys -----------------------------------------------------------------------------------
  function switchTheme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    drawMap();
    drawMatrix();
  }
  function step(by) {
    const links = all(".row .n, tbody td:first-child a");
    if (!links.length) return;
    const at = links.indexOf(document.activeElement);
    links[Math.min(links.length - 1, Math.max(0, at + by))].focus();
  }
  const KEYS = {
    "?": () => $("#help").showModal(),
    t: switchTheme,
    j: () => step(1),
    k: () => step(-1),
    e: () => $("#cycle-link")?.click(),
    b: () => $('nav a[href$="/"]')?.click(),
    "/": () => $("#filter")?.focus(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if ($("dialog[open]") || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  // ---- canvases: thousands of nodes ------------------------------------------------------------
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function prepare(canvas, height) {
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    return [context, width];
  }
  function drawMap() {
    const canvas = $("#node-map");
    if (!canvas) return;
    const rows = JSON.parse(canvas.dataset.rows), height = 240;
    const [context, width] = prepare(canvas, height);
    const side = Math.max(3, Math.floor(Math.sqrt((width * height) / Math.max(1, rows.length))) - 1);
    const columns = Math.max(1, Math.floor(width / (side + 1)));
    const best = Math.max(1, ...rows.map((row) => row[3]));
    const [accent, no, never, line] = ["--accent", "--no", "--never", "--line"].map(color);
    rows.forEach((row, i) => {
      context.globalAlpha = row[3] >= 0 ? 0.15 + (0.75 * row[3]) / best : row[4] ? 0.6 : 1;
      context.fillStyle = row[3] >= 0 ? accent : row[4] === 3 ? never : row[4] ? no : line;
      context.fillRect((i % columns) * (side + 1), Math.floor(i / columns) * (side + 1), side, side);
    });
  }
  let frame = null;
  async function loadMatrix() {
    const canvas = $("#matrix");
    if (!canvas) return;
    const buffer = await (await fetch(canvas.dataset.url)).arrayBuffer(), view = new DataView(buffer);
    const n = view.getUint32(0, true), m = view.getUint32(4, true);
    frame = { n, m, first: new Int16Array(buffer, 8, n), codes: new Uint8Array(buffer, 8 + 2 * n) };
    drawMatrix();
    const names = $("#matrix-names").dataset.names.split(" "), plugins = canvas.dataset.plugins.split(",");
    canvas.addEventListener("pointermove", (event) => {
      const { columns, cell } = frame.layout;
      const x = Math.floor(event.offsetX / cell), y = Math.floor(event.offsetY / (cell * (m + 1)));
      const node = y * columns + x, plugin = Math.floor((event.offsetY - y * cell * (m + 1)) / cell);
      if (node >= n || plugin >= m) return;
      const code = frame.codes[plugin * n + node];
      $("#matrix-at").textContent = `${names[node]} · ${plugins[plugin]} · ${code === 0 ? "passed" : code === 3 ? "never" : "not yet"}${frame.first[node] === plugin ? " · first reason" : ""}`;
    });
  }
  function drawMatrix() {
    const canvas = $("#matrix");
    if (!canvas || !frame) return;
    const { n, m, first, codes } = frame, cell = 5;
    const columns = Math.floor(canvas.clientWidth / cell), bands = Math.ceil(n / columns);
    const [context] = prepare(canvas, bands * (m + 1) * cell);
    canvas.style.height = `${bands * (m + 1) * cell}px`;
    frame.layout = { columns, cell };
    const [ok, no, never] = ["--ok", "--no", "--never"].map(color);
    for (let p = 0; p < m; p++)
      for (let i = 0; i < n; i++) {
        const code = codes[p * n + i];
        context.globalAlpha = code === 0 ? 0.22 : first[i] === p ? 1 : 0.4;
        context.fillStyle = code === 0 ? ok : code === 3 ? never : no;
        context.fillRect((i % columns) * cell, (Math.floor(i / columns) * (m + 1) + p) * cell, cell - 1, cell - 1);
      }
  }
  document.addEventListener("DOMContentLoaded", () => { tick(); setInterval(tick, 250); loadMatrix(); drawMap(); });
})();
