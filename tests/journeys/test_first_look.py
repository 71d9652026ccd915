"""What `make demo` shows without a click: every lane of the board has something to tell within half a minute.

With SCHEDVIZ_SCREENSHOTS=1 the README's picture is taken of it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.house import House

README_PICTURE = Path(__file__).parent.parent.parent / "docs" / "board.png"
PATIENCE_MS = 45_000


@pytest.fixture(scope="module")
def house(folder: Path):
    house = House(folder, "--scenario", "steady")
    try:
        house.start()
        yield house
    finally:
        house.end()
        print("\n".join(house.lines))


def test_the_demo_has_something_in_every_lane(house: House, page: Page):
    page.goto("/sessions/demo/")
    for lane in ("gated", "unschedulable", "backoff", "bound"):
        row = page.locator(f"#lane-{lane} li.row").first
        expect(row).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator("#lane-bound li.row").nth(7)).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator("#lane-backoff li.row").first).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator("#cycle")).to_contain_text("PreFilter")
    if os.environ.get("SCHEDVIZ_SCREENSHOTS"):
        page.screenshot(path=README_PICTURE)
