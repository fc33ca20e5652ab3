"""From rows of an export to a table."""

import pytest

from raterlens.base.errors import InputError
from raterlens.reading.formats.export_rows import Export, Row


def test_one_item_needs_no_column_and_what_is_passed_over_is_said() -> None:
    export = Export(
        "a tool's export", "so and so", [Row("a", "x", "all", 1), Row("b", None, "all", 0)], {"textarea"}
    )
    table = export.table("f.json")
    assert table.columns == ("student", "rater", "score")
    assert [finding.note for finding in table.findings] == [
        "a tool's export: so and so",
        "answers of type 'textarea': left out: no scores",
    ]


def test_an_export_without_scores() -> None:
    with pytest.raises(
        InputError, match=r"'f.json' is a tool's export without scores, only 'textarea'; export choices"
    ):
        Export("a tool's export", "so and so", [], {"textarea"}).table("f.json")
