// The node x plugin matrix of a big cluster: one binary frame, drawn row by row as far as it is seen.
(() => {
  "use strict";
  const ROW = 18, CELL = 26, SYMBOLS = "●▲◆△–◇!";
  const start = () => {
    const box = document.querySelector("#matrix.drawn");
    if (!box || box.dataset.wired) return;
    box.dataset.wired = "1";
    fetch(box.dataset.src).then((answer) => {
      if (!answer.ok) throw new Error("HTTP " + answer.status);
      return answer.arrayBuffer();
    }).then((buffer) => show(box, buffer)).catch((error) => {
      document.getElementById("matrix-said").textContent = "The matrix could not be loaded: " + error.message + ". Load the page again.";
    });
  };
  const show = (box, buffer) => {
    const length = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const cells = new Uint8Array(buffer, 4 + length), n = head.plugins.length;
    const top = box.querySelector(".head"), body = box.querySelector(".body"), scroller = box.querySelector(".scroller");
    const said = document.getElementById("matrix-said"), NAME = 190, ratio = devicePixelRatio || 1;
    const field = document.getElementById("filter"), only = document.getElementById("only-rejected");
    let shown = [], at = 0, sprites = null;

    const sprite = () => {
      const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
      const inks = ["--ok", "--no", "--never", "--no", "--soft", "--never", "--never"].map(colour), tints = { 1: colour("--no-tint"), 2: colour("--never-tint"), 6: colour("--never-tint") };
      const sheet = document.createElement("canvas");
      sheet.width = CELL * SYMBOLS.length * ratio;
      sheet.height = ROW * ratio;
      const pen = sheet.getContext("2d");
      pen.scale(ratio, ratio);
      pen.font = "12px " + colour("--mono");
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      [...SYMBOLS].forEach((symbol, i) => {
        if (tints[i]) { pen.fillStyle = tints[i]; pen.fillRect(i * CELL, 0, CELL, ROW - 1); }
        pen.fillStyle = inks[i];
        pen.fillText(symbol, i * CELL + CELL / 2, ROW / 2);
      });
      return { sheet, ink: colour("--ink"), soft: colour("--soft"), line: colour("--faint"), panel: colour("--panel"), hi: colour("--hi"), font: "12px " + colour("--mono") };
    };
    const size = (canvas, width, height) => {
      canvas.style.width = width + "px";
      canvas.style.height = height + "px";
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      return pen;
    };
    const drawHead = () => {
      const pen = size(top, scroller.clientWidth, 150);
      pen.fillStyle = sprites.soft;
      pen.font = sprites.font;
      pen.fillText("node", 10, 140);
      pen.fillText("outcome", NAME + n * CELL + 14, 140);
      head.plugins.forEach((name, i) => {
        pen.save();
        pen.translate(NAME + i * CELL + CELL / 2 + 4, 142);
        pen.rotate(-Math.PI / 2);
        pen.fillText(name, 0, 0, 134);
        pen.restore();
      });
    };
    let pen = null;
    const draw = () => {
      const began = performance.now();
      const width = scroller.clientWidth, height = scroller.clientHeight, first = Math.floor(scroller.scrollTop / ROW), shift = -(scroller.scrollTop % ROW);
      if (!pen || body.width !== Math.round(width * ratio) || body.height !== Math.round(height * ratio)) pen = size(body, width, height);
      pen.fillStyle = sprites.panel;
      pen.fillRect(0, 0, width, height);
      pen.font = sprites.font;
      pen.textBaseline = "middle";
      for (let i = first, y = shift; y < height && i < shown.length; i++, y += ROW) {
        const row = shown[i];
        if (i === at) { pen.fillStyle = sprites.hi; pen.fillRect(0, y, width, ROW - 1); }
        pen.fillStyle = sprites.ink;
        pen.fillText(clip(head.names[row], 24), 10, y + ROW / 2);
        for (let p = 0; p < n; p++) pen.drawImage(sprites.sheet, cells[row * n + p] * CELL * ratio, 0, CELL * ratio, ROW * ratio, NAME + p * CELL, y, CELL, ROW);
        pen.fillStyle = head.reasons[row] ? sprites.soft : sprites.ink;
        pen.fillText(outcome(row), NAME + n * CELL + 14, y + ROW / 2);
        pen.fillStyle = sprites.line;
        pen.fillRect(0, y + ROW - 1, width, 1);
      }
      box.dataset.drawMs = (performance.now() - began).toFixed(2);
    };
    const clip = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;
    const outcome = (row) => head.reasons[row] || ((head.totals[row] === null ? "passed" : String(head.totals[row])) + (head.names[row] === head.chosen ? " · chosen" : ""));
    const sift = () => {
      const text = field.value.trim().toLowerCase();
      shown = [];
      head.names.forEach((name, row) => {
        if (only.checked && !head.reasons[row]) return;
        if (!text || name.toLowerCase().includes(text) || head.reasons[row].toLowerCase().includes(text)) shown.push(row);
      });
      box.querySelector(".height").style.height = shown.length * ROW + "px";
      scroller.scrollTop = 0;
      at = 0;
      tell();
      draw();
    };
    const tell = (p) => {
      if (!shown.length) { said.textContent = "No node like this."; return; }
      const row = shown[at];
      const verdict = p === undefined ? "" : " · " + head.plugins[p] + " " + head.meanings[cells[row * n + p]];
      said.textContent = head.names[row] + ": " + outcome(row) + verdict;
    };
    const restyle = () => { sprites = sprite(); pen = null; drawHead(); draw(); };
    scroller.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
    scroller.addEventListener("pointermove", (event) => {
      const bounds = scroller.getBoundingClientRect();
      const i = Math.floor((event.clientY - bounds.top + scroller.scrollTop) / ROW), p = Math.floor((event.clientX - bounds.left - NAME) / CELL);
      if (i >= shown.length) return;
      at = i;
      tell(p >= 0 && p < n ? p : undefined);
      draw();
    });
    box.addEventListener("keydown", (event) => {
      const page = Math.floor(scroller.clientHeight / ROW) - 1;
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length }[event.key];
      if (!by) return;
      at = Math.min(shown.length - 1, Math.max(0, at + by));
      if (at * ROW < scroller.scrollTop) scroller.scrollTop = at * ROW;
      if ((at + 2) * ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = (at + 2) * ROW - scroller.clientHeight;
      tell();
      draw();
      event.preventDefault();
    });
    field.addEventListener("input", sift);
    only.addEventListener("input", sift);
    addEventListener("resize", restyle);
    document.addEventListener("theme-changed", restyle);
    sprites = sprite();
    drawHead();
    sift();
  };
  document.addEventListener("htmx:afterSwap", start);
  start();
})();
