"""A real browser for tests: pages that fail on any console error and on any request that leaves the machine."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, one per test file: while Playwright runs, its thread cannot start another event loop."""
    if not Path(CHROMIUM).exists():
        message = (
            f"no Chromium at {CHROMIUM}: `apt-get install chromium`, or set CHROMIUM to the path of another"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def new_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages: `new_page(dark=True, phone=True, expect=["404"])`. At the end the test fails on anything that went
    wrong in any of them, except console errors that contain one of `expect`."""
    contexts: list[Any] = []
    faults: list[str] = []

    def opened(*, dark: bool = False, phone: bool = False, expect: tuple[str, ...] | list[str] = ()) -> Any:
        context = browser.new_context(
            viewport=PHONE if phone else DESKTOP,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            locale="en-GB",
        )
        contexts.append(context)
        page = context.new_page()
        watch(page, faults, expect)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not faults, "\n".join(faults)


@pytest.fixture
def page(new_page: Callable[..., Any]) -> Any:
    """A page of desktop size in light colours."""
    return new_page()


def watch(page: Any, faults: list[str], expect: tuple[str, ...] | list[str] = ()) -> None:
    """Record what goes wrong in a page."""

    def on_console(message: Any) -> None:
        if message.type in ("error", "warning") and not any(text in message.text for text in expect):
            faults.append(f"console {message.type}: {message.text}")

    def on_request(request: Any) -> None:
        if not stays_here(request.url):
            faults.append(f"request left the machine: {request.url}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: faults.append(f"uncaught: {error}"))
    page.on("request", on_request)


def stays_here(url: str) -> bool:
    """Whether a request is for a file, for the page itself or for this machine."""
    parts = urlsplit(url)
    if parts.scheme in ("file", "data", "blob", "about"):
        return True
    return parts.hostname in ("127.0.0.1", "localhost", "::1")


def accessibility_faults(page: Any) -> list[str]:
    """Serious and critical findings of axe-core on the page, one line each."""
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    assert found["passes"], "axe-core looked at nothing"
    return [
        f"{finding['id']} ({finding['impact']}): {finding['help']}: {node['html'][:200]}"
        for finding in found["violations"]
        if finding["impact"] in ("serious", "critical")
        for node in finding["nodes"]
    ]


def fits_width(page: Any) -> bool:
    """Whether the page needs no scrolling sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))
