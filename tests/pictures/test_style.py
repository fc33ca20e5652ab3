"""Every colour once, by its role, and one mark per kind of verdict."""

import pytest

from raterlens.pictures.style import MARK_ROLES, MARKS, PALETTE, ROLE_OF, TEXT_ROLES, THEMES, css, mark

# WCAG 2.2: contrast of text (1.4.3) and of graphics (1.4.11) with what they stand on.
TEXT, GRAPHICS = 4.5, 3.0


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the usual example just below AA


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["paper", "panel"])
def test_text_and_marks_stand_out(theme, ground):
    def of(role):
        return getattr(PALETTE[role], theme)

    assert all(contrast(of(role), of(ground)) >= TEXT for role in TEXT_ROLES)
    assert all(contrast(of(role), of(ground)) >= GRAPHICS for role in MARK_ROLES)


def test_a_role_is_known_by_its_light_colour():
    assert len(ROLE_OF) == len(PALETTE)


def test_every_mark_has_a_shape_of_its_own_unless_it_is_hollow():
    shapes = [one.shape for name, one in MARKS.items() if name != "unsure"]
    assert len(set(shapes)) == len(shapes)
    assert {one.role for one in MARKS.values()} <= set(PALETTE)


def test_the_style_sheet_has_every_role_in_light_and_dark():
    light, dark = css().splitlines()
    assert dark.startswith("@media screen")
    for role, colour in PALETTE.items():
        assert f"--{role}: {colour.light}" in light
        assert f"--{role}: {colour.dark}" in dark


def test_marks_differ_in_name_and_shape():
    paths = [m.path for name, m in MARKS.items() if name != "unsure"]  # drawn hollow instead
    assert len(set(paths)) == len(paths)
    assert all(name == m.name for name, m in MARKS.items())
    assert mark("too severe") != mark("too lenient")
