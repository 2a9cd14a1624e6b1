"""A browser of the tests' own, why there may be none, and what they ask it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["CANNOT", "browser_for_tests", "faults", "quiet_page", "until", "width"]

REPO_ROOT = Path(__file__).resolve().parent.parent
AXE = REPO_ROOT / ".cache/axe/axe_playwright_python/axe.min.js"
CANNOT = "no browser can run here"
"""An expected skip, for tests/conftest.py; any other reason of this module fails CI."""
WAIT_S = 100.0


@contextmanager
def browser_for_tests() -> Iterator[Any]:
    """Chromium, without a window. Skips the test where none can run: in CI only a machine that could have none gets
    away."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        installs = os.geteuid() == 0 and shutil.which("apt-get") is not None
        pytest.skip("Chromium is not installed: scripts/browser.sh install" if installs else
                    f"{CANNOT}: Chromium is not installed, and this user cannot install it")
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("Playwright is not installed: pip install 'reasongym[dev]'")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program,
                                            args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield opened
        opened.close()


@contextmanager
def quiet_page(browser: Any, address: str, **about: Any) -> Iterator[Any]:
    """A page that is open; what the console says, and an error of a script, fails the test."""
    context = browser.new_context(**({"viewport": {"width": 1200, "height": 900}} | about))
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    try:
        yield page
    finally:
        context.close()
    assert not complaints, complaints


def until(seen: Callable[[], object], expected: object) -> None:
    """Asks until the answer is as expected. The pages' policy forbids Playwright's own way, which evaluates strings."""
    deadline = time.monotonic() + WAIT_S
    while (found := seen()) != expected:
        assert time.monotonic() < deadline, f"{found!r} and not {expected!r}"
        time.sleep(0.02)


def width(page: Any) -> int:
    """Of the document in pixels: more than the window's where it scrolls sideways."""
    found: int = page.evaluate("() => document.documentElement.scrollWidth")
    return found


def faults(page: Any) -> list[str]:
    """What axe-core finds serious or critical on a page whose context was made with bypass_csp."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: scripts/browser.sh install")
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("async () => (await axe.run({ preload: false })).violations")
    return [f"{one['id']}: {one['help']}: {node['html'][:200]}" for one in found
            if one["impact"] in {"serious", "critical"} for node in one["nodes"]]
