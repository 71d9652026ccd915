// The board: takes the rows that htmx swapped into a lane's inbox and puts them in the order that the server says.
// While the pointer rests on a lane, or the focus is in it, what would move its rows waits, and a pill says so.
(() => {
  "use strict";
  const root = document.documentElement;
  const board = document.querySelector("main.board");
  if (!board) return;
  const STALE_MS = 3000;
  const held = new Map(); // lane -> { order, rows: Map(id -> element) } that waits
  const isHeld = new Map();
  const OWN_MS = 3000;
  let released = 0; // until then nothing waits: one's own action is seen at once
  let socket = null, heard = 0, greeted = false, bestSkew = -Infinity, lastCycleAt = 0;

  // ---- lanes ----------------------------------------------------------------------------------
  const laneOf = (name) => document.getElementById("lane-" + name);
  const listOf = (name) => laneOf(name).querySelector("ol.rows");
  const collect = () => {
    for (const inbox of document.querySelectorAll("ol[data-order]")) {
      const name = inbox.dataset.lane;
      const order = inbox.dataset.order ? inbox.dataset.order.split(" ") : [];
      const news = held.get(name) || { order, rows: new Map() };
      news.order = order;
      for (const row of [...inbox.children]) {
        row.remove();
        const old = document.getElementById(row.id);
        if (old && old.parentElement === listOf(name)) replace(old, row);
        else news.rows.set(row.id, row);
      }
      inbox.removeAttribute("data-order");
      held.set(name, news);
      settle(name);
    }
    const tiles = document.getElementById("in-nodes");
    for (const tile of tiles ? [...tiles.children] : []) {
      const old = document.getElementById(tile.id);
      tile.remove();
      if (old) { replace(old, tile); window.schedvizNodes.paint(old); }
    }
  };
  // The row and its link stay the same elements, so that a click, the focus and the pointer outlive the news.
  const replace = (old, row) => {
    const link = old.querySelector("a"), news = row.querySelector("a");
    for (const name in row.dataset) old.dataset[name] = row.dataset[name];
    if (old.classList.contains("tile")) old.className = row.className;
    link.href = news.getAttribute("href");
    link.title = news.title;
    link.replaceChildren(...news.childNodes);
  };
  const settle = (name) => {
    const news = held.get(name);
    if (!news) return;
    if (isHeld.get(name) && Date.now() > released) return announce(name, news);
    held.delete(name);
    arrange(name, news);
    announce(name, null);
  };
  document.getElementById("dialog").addEventListener("htmx:afterSwap", (event) => {
    if (!event.currentTarget.querySelector(".result .ok")) return;
    released = Date.now() + OWN_MS;
    for (const name of [...held.keys()]) settle(name);
  });
  const arrange = (name, { order, rows }) => {
    const list = listOf(name), wanted = new Set(order);
    for (const row of [...list.children]) if (!wanted.has(row.id)) row.remove();
    let at = list.firstElementChild;
    for (const id of order) {
      let row = document.getElementById(id);
      if (!row || row.parentElement !== list) {
        row = rows.get(id);
        if (!row) continue;
        if (greeted) row.classList.add("new");
        list.insertBefore(row, at);
      } else if (row === at) at = at.nextElementSibling;
      else list.insertBefore(row, at);
    }
    for (const row of list.children) row.classList.remove("leaving");
    if (name === "malformed") laneOf(name).hidden = !order.length;
  };
  const announce = (name, news) => {
    const pill = laneOf(name).querySelector(".held");
    let n = 0;
    if (news) {
      const wanted = new Set(news.order), have = [...listOf(name).children];
      for (const row of have) {
        const leaves = !wanted.has(row.id);
        row.classList.toggle("leaving", leaves);
        n += leaves;
      }
      const ids = new Set(have.map((row) => row.id));
      n += news.order.filter((id) => !ids.has(id)).length;
      if (!n && have.some((row, i) => row.id !== news.order[i])) n = 1;
    }
    pill.hidden = !n;
    if (n) pill.textContent = n === 1 ? "1 change waiting" : n + " changes waiting";
  };
  for (const lane of document.querySelectorAll(".lane[data-lane]")) {
    const name = lane.dataset.lane;
    let inside = false, focused = false;
    const update = () => { isHeld.set(name, inside || focused); settle(name); };
    lane.addEventListener("pointerenter", (event) => { inside = event.pointerType === "mouse"; update(); });
    lane.addEventListener("pointerleave", () => { inside = false; update(); });
    lane.addEventListener("focusin", (event) => { focused = event.target.matches(":focus-visible"); update(); });
    lane.addEventListener("focusout", (event) => { if (!lane.contains(event.relatedTarget)) { focused = false; update(); } });
    lane.querySelector(".held").addEventListener("click", () => {
      isHeld.set(name, false);
      settle(name);
      isHeld.set(name, inside || focused);
    });
  }

  // ---- the wire -------------------------------------------------------------------------------
  const say = (word) => {
    if (root.dataset.live === word) return;
    root.dataset.live = word;
    document.getElementById("live-said").textContent = "The board is " + word;
  };
  const mark = (word, text) => {
    const chip = document.getElementById("live");
    chip.className = "chip is-" + word;
    const said = chip.querySelector(".word") || chip.lastElementChild;
    if (said.textContent !== text) said.textContent = text;
    say(word);
  };
  board.addEventListener("htmx:wsOpen", (event) => {
    socket = event.detail.socketWrapper;
    greeted = false;
    bestSkew = -Infinity;
    const filter = document.getElementById("filter").value.trim();
    if (filter) socket.send(JSON.stringify({ filter }), null);
  });
  board.addEventListener("htmx:wsClose", () => { socket = null; mark("disconnected", "disconnected, trying again"); });
  board.addEventListener("htmx:wsBeforeMessage", (event) => {
    heard = Date.now();
    if (event.detail.message instanceof ArrayBuffer) {
      event.preventDefault();
      window.schedvizNodes.take(event.detail.message);
    }
  });
  board.addEventListener("htmx:wsAfterMessage", () => {
    collect();
    const chip = document.getElementById("live");
    if (chip.dataset.now) {
      bestSkew = Math.max(bestSkew, Number(chip.dataset.now) - Date.now() / 1000);
      window.schedviz.setSkew(bestSkew);
    }
    if (chip.dataset.state) root.dataset.state = chip.dataset.state;
    root.toggleAttribute("data-paused", "paused" in chip.dataset);
    say(chip.dataset.word);
    light();
    greeted = true;
    window.schedvizNodes.refresh();
    window.schedviz.tick();
  });
  setInterval(() => {
    if (socket && heard && Date.now() - heard > STALE_MS && root.dataset.live === "live") mark("stale", "stale");
  }, 500);

  // A cycle that comes after a quiet second lights up point by point; in a storm of them nothing flickers.
  const light = () => {
    const cycle = document.getElementById("cycle");
    if (!cycle.dataset.number || cycle.dataset.lit) return;
    cycle.dataset.lit = "1";
    if (greeted && Date.now() - lastCycleAt > 1000) cycle.classList.add("lit");
    lastCycleAt = Date.now();
  };

  // ---- the filter -----------------------------------------------------------------------------
  const field = document.getElementById("filter");
  let typing = 0;
  const tellFiltered = () => root.toggleAttribute("data-filtered", field.value.trim() !== "");
  tellFiltered();
  field.addEventListener("input", () => {
    tellFiltered();
    clearTimeout(typing);
    typing = setTimeout(() => {
      const filter = field.value.trim();
      if (socket) socket.send(JSON.stringify({ filter }), null);
      history.replaceState(null, "", filter ? "?q=" + encodeURIComponent(filter) : location.pathname);
    }, 150);
  });
  field.form.addEventListener("submit", (event) => event.preventDefault());

  // ---- operators' tools on the row under the pointer or the focus -------------------------------
  const template = document.getElementById("row-tools");
  const tools = template ? template.content.firstElementChild.cloneNode(true) : null;
  const show = (event) => {
    const row = tools && event.target.closest && event.target.closest(".lane-gated .row, .lane-active .row, .lane-backoff .row, .lane-unschedulable .row, .lane-binding .row[data-waits=yes]");
    if (row && tools.parentElement !== row) row.append(tools);
    else if (tools && !row && !tools.contains(document.activeElement)) tools.remove();
  };
  board.addEventListener("pointerover", show);
  board.addEventListener("focusin", show);
  const open = (row, verb) => {
    const url = board.dataset.base + "pods/" + encodeURIComponent(row.dataset.uid) + "/" + verb;
    htmx.ajax("GET", url, { target: "#dialog", swap: "innerHTML" });
  };
  if (tools) {
    tools.addEventListener("click", (event) => {
      const button = event.target.closest("[data-act]");
      if (button) { event.preventDefault(); open(button.closest(".row"), button.dataset.act); }
    });
    document.addEventListener("row-act", (event) => {
      const { row, verb } = event.detail;
      const lane = row.closest(".lane").dataset.lane;
      const waits = lane === "backoff" || lane === "unschedulable";
      if (verb === "hold") { if (waits || lane === "active" || lane === "gated") open(row, row.dataset.held ? "release" : "hold"); }
      else if (waits || (verb === "move" && lane === "active")) open(row, verb);
    });
  }
})();
