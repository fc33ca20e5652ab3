"""Templates, style and scripts."""

from raterlens.charts.palette import PALETTE
from raterlens.report.assets import FOLDER, SCRIPTS, environment, script, style


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
