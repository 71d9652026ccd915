"""Headless Chromium for the journeys and the bench: the one named by CHROMIUM, or found on the PATH."""

from __future__ import annotations

import os
import shutil

from playwright.sync_api import Browser, Playwright

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
NAMES = ("chromium", "chromium-browser", "google-chrome")


def launch(playwright: Playwright) -> Browser:
    names = [os.environ.get("CHROMIUM", ""), *NAMES]
    path = next((path for name in names if name and (path := shutil.which(name))), None)
    assert path, "no Chromium: install it (apt install chromium), or name it by CHROMIUM="
    return playwright.chromium.launch(executable_path=path, args=FLAGS)
