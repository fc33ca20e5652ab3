"""The browser's own guard: what a page does wrong fails its test, and axe-core finds what it should."""

from pathlib import Path

import pytest

from tests.support.browser import accessibility_faults, fits_width, stays_here, watch
from tests.support.screens import look, misplaced


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
        (Path("x.html").absolute().as_uri(), True),
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


def test_what_cannot_be_read_is_told(page, monkeypatch, tmp_path: Path):
    """The checks of every picture that tests take can fail."""
    drawn = '<svg role="img" width="100" height="40"><text y="20" {0}>one</text><text y="21" x="{1}">two</text></svg>'
    page.set_content(f"<main>{drawn.format('', 60)}</main>")
    assert misplaced(page) == []
    for content, fault in (
        (drawn.format("", 3), "two texts in one place: one | two"),
        (drawn.format("", 90), "outside its chart: two"),
        (drawn.format('font-size="6"', 60), "letters of 6.0 pixels: one"),
        (
            "<p style='width: 3em; overflow: hidden; white-space: nowrap'>cut off by its box</p>",
            "cut off: cut off by its box",
        ),
        ("<p style='width: 5000px'>wide</p>", "beyond the page: wide"),
        ("<pre>" + "wide " * 600 + "</pre>", "the page is"),
    ):
        page.set_content(f"<main>{content}</main>")
        assert any(found.startswith(fault) for found in misplaced(page)), content
    monkeypatch.setattr("tests.support.screens.SHOTS", tmp_path)
    page.set_content("<body style='background: white'></body>")
    with pytest.raises(AssertionError) as told:
        look(page, "empty", sizes=["phone"], accessible=False)
    assert "nothing to be seen" in str(told.value)
    assert "not dark" in str(told.value)
