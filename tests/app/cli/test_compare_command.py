"""`raterlens compare`: saved fits by name."""

import json
from pathlib import Path

from raterlens.app.cli.compare_command import _names
from raterlens.app.cli.main import AT_FAULT, DONE, main
from tests.support.command_line import Captured


def test_fits_are_named_by_file_folder_or_path() -> None:
    assert _names([Path("a/x.json"), Path("a/y.json")]) == ["x", "y"]
    assert _names([Path("a/fit.json"), Path("b/fit.json")]) == ["a", "b"]
    assert _names([Path("1/a/fit.json"), Path("2/a/fit.json")]) == ["1/a/fit.json", "2/a/fit.json"]


def test_two_fits_side_by_side(table: Path, tmp_path: Path, capsys: Captured) -> None:
    for model in ("tfm", "gmf"):
        main(["fit", str(table), "--model", model, "--out", str(tmp_path / model), "--quiet"])
    assert main(["compare", *(str(tmp_path / model / "fit.json") for model in ("tfm", "gmf"))]) == DONE
    shown = capsys.readouterr().out
    assert "tfm" in shown
    assert "likelihood" in shown
    assert (
        main(["compare", "--json", *(str(tmp_path / name / "fit.json") for name in ("tfm", "gmf"))]) == DONE
    )
    found = json.loads(capsys.readouterr().out)
    assert [row["fit"] for row in found["models"]] == ["tfm", "gmf"]
    assert found["models"][0]["p"] is None
    assert set(found) == {"models", "raters", "agreement", "words", "warnings"}
    assert main(["compare", str(tmp_path / "tfm" / "fit.json")]) == AT_FAULT
    assert "1 fit to compare; give the paths of two or more fit.json" in capsys.readouterr().err
