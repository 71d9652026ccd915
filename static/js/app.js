// What every page does: spans that count, the dialog, the theme, the keys. No page needs a reload.
(() => {
  "use strict";
  const root = document.documentElement;
  const $ = (selector, from = document) => from.querySelector(selector);
  let skew = 0; // seconds that the server's clock is ahead of this one
  let toastTimer = 0;

  htmx.config.wsReconnectDelay = (tries) => Math.min(250 * 2 ** tries, 2000) * (0.6 + 0.4 * Math.random());

  // ---- time -----------------------------------------------------------------------------------
  const pad = (n) => String(n).padStart(2, "0");
  const span = (s) => {
    s = Math.max(0, s);
    if (s < 10) return s.toFixed(1) + " s";
    if (s < 60) return Math.floor(s) + " s";
    const m = Math.floor(s / 60);
    if (m < 60) return m + " m " + pad(Math.floor(s % 60)) + " s";
    const h = Math.floor(m / 60);
    return h < 24 ? h + " h " + pad(m % 60) + " m" : Math.floor(h / 24) + " d " + (h % 24) + " h";
  };
  const setText = (element, text) => {
    const node = element.firstChild;
    if (node && node.nodeType === 3 && element.childNodes.length === 1) {
      if (node.data !== text) node.data = text;
    } else element.textContent = text;
  };
  const now = () => Date.now() / 1000 + skew;
  const tick = () => {
    const t = now();
    for (const element of document.querySelectorAll("[data-since]")) {
      const since = Number(element.dataset.since);
      setText(element, since > 0 ? span(t - since) : "–");
    }
    for (const element of document.querySelectorAll("[data-until]")) {
      const left = Number(element.dataset.until) - t;
      setText(element, left > 0 ? span(left) : "now");
    }
    for (const ring of document.querySelectorAll("svg.ring")) {
      const from = Number(ring.dataset.from), to = Number(ring.dataset.to);
      const left = to > from ? Math.min(1, Math.max(0, (to - t) / (to - from))) : 0;
      ring.lastElementChild.setAttribute("stroke-dasharray", (left * 100).toFixed(0) + " 100");
    }
  };
  const tellMoments = (from) => {
    for (const element of from.querySelectorAll("time[data-moment]")) {
      const at = new Date(Number(element.dataset.moment) * 1000);
      const clock = pad(at.getHours()) + ":" + pad(at.getMinutes()) + ":" + pad(at.getSeconds());
      const day = at.getFullYear() + "-" + pad(at.getMonth() + 1) + "-" + pad(at.getDate());
      const text = day === today() ? clock : day + " " + clock;
      setText(element, text);
    }
  };
  const today = () => {
    const at = new Date();
    return at.getFullYear() + "-" + pad(at.getMonth() + 1) + "-" + pad(at.getDate());
  };
  setInterval(tick, 200);

  // ---- the dialog, small messages -------------------------------------------------------------
  const toast = (text) => {
    $("#toast").textContent = text;
    clearTimeout(toastTimer);
    toastTimer = setTimeout(() => { $("#toast").textContent = ""; }, 6000);
  };
  const dialog = () => $("#dialog");
  document.addEventListener("htmx:afterSwap", (event) => {
    tellMoments(document);
    tick();
    if (event.detail.target !== dialog()) return;
    if (!dialog().open && !opens(event.detail.requestConfig)) {
      const said = $("[role=status]", dialog());
      if (said) toast(said.textContent);
      return;
    }
    if (!dialog().open) dialog().showModal();
    const first = $("[autofocus]", dialog());
    if (first) first.focus();
  });
  // A dialog that somebody closed before its wish was answered stays closed; the answer is a small message then.
  const opens = (asked) => asked.verb === "get" && !/^\/commands\/\d+\/$/.test(asked.path);
  document.addEventListener("close-dialog", () => dialog().close());
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-close]")) dialog().close();
    if (event.target.closest("#theme")) toggleTheme();
    if (event.target.closest("#help-button")) $("#help").showModal();
    if (event.target.tagName === "DIALOG") event.target.close();
  });
  document.addEventListener("focusin", (event) => {
    const checks = event.target.dataset.checks;
    if (checks) document.getElementById(checks).checked = true;
  });
  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    toast(status === 403 ? "You may not do this." : status === 404 ? "It is not there any more." : "That failed (" + status + "). The log of the web process says why.");
  });
  document.addEventListener("htmx:sendError", () => toast("The server does not answer."));

  const toggleTheme = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("schedviz-theme", root.dataset.theme);
    document.dispatchEvent(new Event("theme-changed"));
  };

  // ---- keys -----------------------------------------------------------------------------------
  const places = { b: "Board", c: "Cycles", p: "Pods", n: "Nodes" };
  const rowLinks = (lane) => [...document.querySelectorAll(lane ? "#" + lane.id + " .row a" : ".row a, table.rows-table tr.go a, table.list tr.go a")].filter((a, i, all) => all.findIndex((b) => b.closest("tr, li") === a.closest("tr, li")) === i);
  const step = (by) => {
    const here = document.activeElement.closest && document.activeElement.closest(".lane");
    const links = rowLinks(here || $(".lane:has(.row)"));
    const at = links.findIndex((a) => a.closest("tr, li").contains(document.activeElement));
    const next = links[Math.min(links.length - 1, Math.max(0, at + by))];
    if (next) next.focus();
  };
  const stepLane = (by) => {
    const lanes = [...document.querySelectorAll(".lanes .lane:has(.row)")];
    const at = lanes.findIndex((lane) => lane.contains(document.activeElement));
    const lane = lanes[Math.min(lanes.length - 1, Math.max(0, at + by))];
    if (lane) $(".row a", lane).focus();
  };
  const openCycle = () => {
    const row = document.activeElement.closest && document.activeElement.closest("[data-cycle]");
    const holder = row || $("#pod[data-cycle]");
    const open = $("#open-cycle");
    if (holder) location.href = location.pathname.replace(/(\/sessions\/[^/]+\/).*/, "$1cycles/" + holder.dataset.cycle + "/");
    else if (open) open.click();
  };
  const act = (verb) => {
    const button = $("#do-" + verb) || (verb === "hold" && $("#do-release"));
    if (button) return button.click();
    const row = document.activeElement.closest && document.activeElement.closest(".row");
    if (row) document.dispatchEvent(new CustomEvent("row-act", { detail: { row, verb } }));
  };
  const keys = {
    "?": () => $("#help").showModal(), "/": () => $("#filter") && $("#filter").focus(),
    t: toggleTheme, j: () => step(1), k: () => step(-1), h: () => stepLane(-1), l: () => stepLane(1), e: openCycle,
    r: () => act("retry"), m: () => act("move"), o: () => act("hold"),
    p: () => $("#prev") && $("#prev").click(), n: () => $("#next") && $("#next").click(),
  };
  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const typing = event.target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select");
    if (event.key === "Escape" && typing) return event.target.blur();
    if (typing || document.querySelector("dialog[open]")) return;
    if (going && Date.now() - going < 1200 && places[event.key]) {
      going = 0;
      const link = [...document.querySelectorAll("header nav a")].find((a) => a.textContent === places[event.key]);
      if (link) link.click();
      return event.preventDefault();
    }
    going = event.key === "g" ? Date.now() : 0;
    if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });

  // ---- the cycle's table matrix ---------------------------------------------------------------
  const sift = () => {
    const field = $("#filter[data-matrix=table]");
    if (!field) return;
    const text = field.value.trim().toLowerCase(), only = $("#only-rejected").checked;
    for (const row of document.querySelectorAll("#matrix tbody tr")) {
      row.hidden = (only && !("rejected" in row.dataset)) || (text !== "" && !row.textContent.toLowerCase().includes(text));
    }
  };
  document.addEventListener("input", sift);

  tellMoments(document);
  tick();
  window.schedviz = { now, tick, toast, setSkew: (s) => { skew = s; } };
})();
