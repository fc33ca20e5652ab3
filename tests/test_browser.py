"""The browser's own guard: what a page does wrong fails its test, and axe-core finds what it should."""

from pathlib import Path

import pytest

from tests.browser import accessibility_faults, fits_width, stays_here, watch


def test_a_page_from_disk_is_shown_and_checked(page, tmp_path: Path):
    path = tmp_path / "page.html"
    path.write_text('<!doctype html><html lang="en"><title>t</title><main><h1>Hello</h1><input></main>')
    page.goto(path.as_uri())
    assert page.locator("h1").inner_text() == "Hello"
    assert any("label" in fault for fault in accessibility_faults(page))
    assert fits_width(page)
    page.set_content("<div style='width: 5000px'>wide</div>")
    assert not fits_width(page)


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("file:///report/x.html", True),
        ("http://127.0.0.1:8000/", True),
        ("http://[::1]:8000/", True),
        ("blob:null/3", True),
        ("https://example.org/", False),
        ("http://127.0.0.1.example.org/", False),
    ],
)
def test_only_this_machine_is_asked(url: str, here: bool):
    assert stays_here(url) is here


def test_errors_and_requests_are_noted_down(browser):
    with browser.new_page() as page:
        faults: list[str] = []
        watch(page, faults, expect=["meant"])
        page.set_content("<img src='https://example.invalid/x.png'><script>console.error('meant')</script>")
        page.set_content("<script>console.error('oops'); throw new Error('thrown')</script>")
    assert [fault.split(":")[0] for fault in faults if "ERR_" not in fault] == [
        "request left the machine",
        "console error",
        "uncaught",
    ]
