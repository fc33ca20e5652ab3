"""Results laid out as FACETS does."""

from pathlib import Path

import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from tests.support.facets_files import anchored


@pytest.fixture(scope="module")
def panel() -> rl.Ratings:
    """Three facets and scores from 0 to 2."""
    return rl.simulate(
        students=60, raters=5, items=3, raters_per_student=3, thresholds=[-0.8, 0.8], seed=3
    ).ratings


def test_fit_uses_anchors_and_prints_tables(
    panel: rl.Ratings, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "study.txt"
    rl.write_facets(panel, path)
    anchored(path, "Items", {"I1": -0.5, "I2": 0.2, "I3": 0.8})
    assert main(["fit", str(path), "--model", "tfm", "--facets-tables"]) == 0
    shown = capsys.readouterr().out
    items = shown[shown.index("Table 7.3.1") :].splitlines()[3:6]
    assert {line.split()[10]: float(line.split()[4]) for line in items} == {"I1": -0.5, "I2": 0.2, "I3": 0.8}


def test_tables_are_on_the_scale_of_the_predictor(panel: rl.Ratings, tmp_path: Path) -> None:
    """Student minus rater minus item is the predictor itself, anchored or not."""
    for raters in ({}, {"R1": (None, 0.5), "R2": (None, -0.2)}):
        fit = rl.fit(panel, "tfm", anchors=rl.Anchors(raters=raters))
        blocks = rl.facets_tables(fit, panel).split("Table 7.")[1:]
        first = [dict(_measures(block)) for block in blocks]
        student, rater, item = "S07", "R2", "I3"
        shown = first[0][student] - first[1][rater] - first[2][item]
        theta = fit.students.filter(student=student)["theta"].item()
        eta = fit.raters.filter(rater=rater)["eta"].item()
        delta = fit.items.filter(item=item)["delta"].item()
        assert shown == pytest.approx(fit.sigma * theta - eta - delta + fit.alpha, abs=0.02)
        if raters:
            assert first[1]["R1"] == 0.5


def _measures(block: str) -> list[tuple[str, float]]:
    rows = [line.split() for line in block.splitlines()[3:]]
    return [(row[10], float(row[4])) for row in rows if len(row) == 11]


def test_tables_need_logits(panel: rl.Ratings) -> None:
    fit = rl.fit(panel, "gmf", link="probit", scale="graded", standard_errors=False)
    with pytest.raises(rl.RaterlensError, match="in logits"):
        rl.facets_tables(fit, panel)


def test_tables_4_6_8_and_13_are_those_of_the_diagnosis(panel: rl.Ratings) -> None:
    fit = rl.fit(panel, "tfm")
    found, shown = fit.diagnose(), rl.facets_tables(fit, panel)
    parts = {part.split()[0]: part.splitlines() for part in shown.split("\nTable ")[1:]}
    assert list(parts) == ["4.1", "6.0", "7.1.1", "7.2.1", "7.3.1", "8.1", "13.1.1"]
    unexpected = found.table("unexpected").row(0, named=True)
    first = parts["4.1"][3].split()
    assert first[4:] == [unexpected["student"], unexpected["rater"], unexpected["item"]]
    assert float(first[2]) == pytest.approx(unexpected["z"], abs=0.06)
    ruler = [line for line in parts["6.0"] if line.startswith("|")][1:]
    assert sum(line.count("*") for line in ruler) == panel.n_students
    severity = {row["rater"]: row["eta"] for row in fit.raters.iter_rows(named=True)}
    for line in ruler:
        at, _, raters, _ = line.strip("|").split("|")
        assert all(abs(severity[name] - float(at)) <= 0.1251 for name in raters.split())
    assert sum(len(line.strip("|").split("|")[2].split()) for line in ruler) == panel.n_raters
    counts = [int(line.split()[1]) for line in parts["8.1"][3:6]]
    assert counts == [int((panel.score == k).sum()) for k in range(3)]
    assert len([line for line in parts["13.1.1"][3:] if line]) == panel.n_raters * panel.n_items
