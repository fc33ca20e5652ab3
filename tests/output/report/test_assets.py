"""Templates, style and scripts."""

import sys

from raterlens.base.style import PALETTE
from raterlens.output.report import assets
from raterlens.output.report.assets import FOLDER, SCRIPTS, environment, script, style


def test_every_script_of_the_folder_is_in_the_page():
    assert {path.stem for path in (FOLDER / "scripts").glob("*.js")} == set(SCRIPTS)
    for name in SCRIPTS:
        assert (FOLDER / "scripts" / f"{name}.js").read_text(encoding="utf-8") in script()


def test_the_style_has_every_colour_it_uses():
    assert all(f"--{role}:" in style() for role in PALETTE)


def test_labels_are_escaped_and_numbers_formatted():
    page = environment().from_string(
        "{{ label }} {{ x | number }} {{ n | value }} {{ 2 | counted('rater') }}"
    )
    assert page.render(label="<b>", x=float("nan"), n=1234) == "&lt;b&gt; – 1,234 2 raters"


def test_a_folder_that_cannot_be_written_to_is_no_matter(tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("{{ 1 + 1 }}")
    (tmp_path / "__pycache__").write_text("in the way")
    monkeypatch.setattr(assets, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert environment.__wrapped__().get_template("page.html").render() == "2"
