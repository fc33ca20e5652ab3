"""Tables of what is known of raters."""

from pathlib import Path

import polars as pl
import pytest

from raterlens.reading.rater_table import read_rater_table


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_labels_stay_text_and_numbers_are_numbers(ending: str, tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"rater": ["007", "12"], "years": [1.5, None], "trained": [1, 0], "team": ["a", "b"]}
    )
    path = tmp_path / f"raters.{ending}"
    getattr(table, {"csv": "write_csv", "parquet": "write_parquet", "xlsx": "write_excel"}[ending])(path)
    found = read_rater_table(path)
    assert found.equals(read_rater_table(table.to_pandas()))
    assert found["rater"].to_list() == ["007", "12"]
    assert found["years"].to_list() == [1.5, None]
    assert found["trained"].to_list() == [1.0, 0.0]
    assert found["team"].to_list() == ["a", "b"]
