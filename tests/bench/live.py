"""How long from a pod's creation in the API until it is seen in a browser: real processes, a real Chromium.

The clock of a pod starts right before its POST is sent and ends when its name first stands in the page.
"""

from __future__ import annotations

import concurrent.futures
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from tests.journeys.browsers import launch
from tests.journeys.house import House, node, pod, wait_until

WATCH_FOR_NAMES = """
() => {
  window.seen = {};
  const look = (text) => {
    for (const name of text.match(/bench-\\d{4}/g) || []) {
      window.seen[name] ??= (performance.timeOrigin + performance.now()) / 1000;
    }
  };
  new MutationObserver((mutations) => {
    for (const mutation of mutations) {
      mutation.addedNodes.forEach((added) => look(added.textContent || ""));
      if (mutation.type === "characterData") look(mutation.target.data);
    }
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
}
"""


def measure(*, pods: int = 500, per_second: float = 50.0, nodes: int = 50) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="sv-") as folder:
        house = House(Path(folder), "--scenario", "empty")
        try:
            house.start()
            return _measure(house, pods, per_second, nodes)
        finally:
            house.end()


def _measure(house: House, pods: int, per_second: float, nodes: int) -> dict[str, float]:
    api = house.api()
    for number in range(nodes):
        api.create_node(node(f"node-{number:02}", cpu="32", memory="128Gi"))
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{house.url}/sessions/demo/")
        page.get_by_text("node-00").first.wait_for()
        page.evaluate(WATCH_FOR_NAMES)
        sent = _create(house, pods, per_second)
        wait_until(
            "all pods seen",
            lambda: page.evaluate("() => Object.keys(window.seen).length") >= pods,
            60,
        )
        seen = page.evaluate("() => window.seen")
        browser.close()
    delays = [seen[name] - sent[name] for name in sent]
    p50, p95, p99 = np.percentile(delays, (50, 95, 99))
    return {
        "pods": pods,
        "pods_per_s": round(pods / (max(sent.values()) - min(sent.values())), 1),
        "p50_s": round(float(p50), 3),
        "p95_s": round(float(p95), 3),
        "p99_s": round(float(p99), 3),
        "max_s": round(max(delays), 3),
    }


def _create(house: House, pods: int, per_second: float) -> dict[str, float]:
    """At an even pace, whatever a single request takes: when each was sent."""
    api, sent = house.api(), {}

    def create(name: str) -> None:
        sent[name] = time.time()
        api.create_namespaced_pod("default", pod(name, cpu="10m"))

    with concurrent.futures.ThreadPoolExecutor(4) as senders:
        began = time.monotonic()
        made = []
        for number in range(pods):
            time.sleep(max(0.0, began + number / per_second - time.monotonic()))
            made.append(senders.submit(create, f"bench-{number:04}"))
        for each in made:
            each.result()
    return sent
