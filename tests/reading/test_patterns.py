"""Names of columns taken apart by a pattern."""

import pytest

from raterlens.config import pattern_fields
from raterlens.reading.patterns import FIELDS, is_grid, likely_pattern, split_names


@pytest.mark.parametrize("separator", ["_", " ", ".", "-", ":", "/", "|"])
def test_a_grid_of_raters_and_items_is_seen(separator: str) -> None:
    columns = ["student", *(f"{r}{separator}{i}" for r in ("Ann", "Bob") for i in ("style", "plot"))]
    assert likely_pattern(columns) == f"{{rater}}{separator}{{item}}"
    assert likely_pattern(["student", f"Ann{separator}style", f"Bob{separator}plot"]) is None


def test_the_split_with_fewest_labels_is_taken() -> None:
    columns = ["Ann Lee style", "Ann Lee plot", "Bob Ray style"]
    found = split_names("{rater} {item}", FIELDS, columns)
    assert found == {
        "Ann Lee style": ("Ann Lee", "style"),
        "Ann Lee plot": ("Ann Lee", "plot"),
        "Bob Ray style": ("Bob Ray", "style"),
    }
    assert is_grid(found)


def test_characters_of_regular_expressions_are_plain() -> None:
    pattern = "{item} (by {rater}.)"
    assert split_names(pattern, pattern_fields(pattern), ["plot (by Ann.)", "plot by Ann"]) == {
        "plot (by Ann.)": ("plot", "Ann")
    }
