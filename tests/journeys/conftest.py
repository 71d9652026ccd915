"""Fixtures of the journeys: the product running, and a browser in front of it. Each carries the marker `journey`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.journeys.browsers import launch
from tests.journeys.house import House

PATIENCE_MS = 15_000
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.journey)


@pytest.fixture(scope="module")
def folder():
    """A short path: unix sockets allow no long one."""
    with tempfile.TemporaryDirectory(prefix="sv-") as path:
        yield Path(path)


@pytest.fixture(scope="module")
def house(folder: Path):
    """The product with an empty sandbox, shared by the stories of one file. What it said is shown when one fails."""
    house = House(folder, "--scenario", "empty")
    try:
        house.start()
        yield house
    finally:
        house.end()
        print("\n".join(house.lines))


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, house: House):
    """A fresh visitor. Any error in the page's console fails the story."""
    context = browser.new_context(base_url=house.url, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    page: Page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert not errors
