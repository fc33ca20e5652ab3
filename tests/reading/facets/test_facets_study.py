"""FACETS studies read and written."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.reading.facets_study import write_facets
from raterlens.reading.read import read
from tests.support.facets_files import ANCHORS, anchored, write


@pytest.mark.parametrize(("model", "scale"), [("tfm", "rating scale"), ("gmf", "partial credit")])
def test_estimates_agree_with_the_long_table(
    panel: rl.Ratings, model: str, scale: str, tmp_path: Path
) -> None:
    panel.table().write_csv(tmp_path / "long.csv")
    rl.write_facets(panel, tmp_path / "study.txt", scale=scale)
    study = rl.read_facets(tmp_path / "study.txt")
    long = rl.fit(read(tmp_path / "long.csv"), model, scale=scale)
    control = rl.fit(study.ratings, model, scale=study.scale)
    assert control.loglik == long.loglik
    for name in ("raters", "items", "students"):
        assert control.table(name).equals(long.table(name))


def test_partial_credit(panel: rl.Ratings, tmp_path: Path) -> None:
    rl.write_facets(panel, tmp_path / "study.txt", scale="partial credit")
    study = rl.read_facets(tmp_path / "study.txt")
    assert study.scale == "partial credit"
    text = (tmp_path / "study.txt").read_text()
    assert "Models = ?,?,#,R2" in text
    write(tmp_path, text.replace("?,?,#,R2", "?,#,?,R2"))
    with pytest.raises(
        rl.RaterlensError, match=r"line 6: each element of facet 2 \(Raters\) has its own thresholds"
    ):
        rl.read_facets(tmp_path / "study.txt")


@pytest.mark.parametrize("positive", [False, True])
def test_anchored_raters(panel: rl.Ratings, positive: bool, tmp_path: Path) -> None:
    path = tmp_path / "study.txt"
    rl.write_facets(panel, path)
    anchored(path, "Raters", {k: -v for k, v in ANCHORS.items()} if positive else ANCHORS)
    if positive:
        path.write_text(path.read_text().replace("Positive = 1", "Positive = 1,2"))
    study = rl.read_facets(path)
    assert study.severities == ANCHORS
    assert "held at the anchors of the control file: 5 raters" in study.ratings.notes
    fit = rl.fit(study.ratings, "tfm", anchors=study.anchors("tfm"), standard_errors=False)
    held = rl.Anchors(raters={k: (None, v) for k, v in ANCHORS.items()})
    by_hand = rl.fit(panel, "tfm", anchors=held, standard_errors=False)
    assert fit.loglik == by_hand.loglik
    found = dict(zip(fit.raters["rater"], fit.raters["eta"] - fit.alpha, strict=True))
    assert found == pytest.approx(ANCHORS, abs=1e-9)


def test_anchored_raters_and_items_leave_the_students_free(tmp_path: Path) -> None:
    """As in FACETS: with everything else held, the students' mean and spread are found; here 0.7 and 1.5."""
    rng = np.random.default_rng(8)
    severity, difficulty = np.array([0.6, -0.4, 0.1, -0.9, 0.6]), np.array([-0.5, 0.2, 0.8])
    ability = rng.normal(0.7, 1.5, 600)
    s = ability[:, None, None] - severity[None, :, None] - difficulty[None, None, :]
    y = rng.random(s.shape) < 1 / (1 + np.exp(-s))
    student, rater, item = np.indices(s.shape)
    frame = pl.DataFrame(
        {
            "student": student.ravel(),
            "rater": [f"R{r + 1}" for r in rater.ravel()],
            "item": [f"I{i + 1}" for i in item.ravel()],
            "score": y.ravel().astype(int),
        }
    )
    path = tmp_path / "study.txt"
    rl.write_facets(read(frame), path)
    anchored(path, "Raters", ANCHORS)
    anchored(path, "Items", {"I1": -0.5, "I2": 0.2, "I3": 0.8})
    study = rl.read_facets(path)
    fit = rl.fit(study.ratings, "tfm", anchors=study.anchors("tfm"), standard_errors=False)
    population = fit.table("population").row(0, named=True)
    assert population["mean"] == pytest.approx(0.7, abs=0.15)
    assert population["sd"] == pytest.approx(1.5, abs=0.12)
    with pytest.raises(rl.RaterlensError, match="use model='tfm'"):
        study.anchors("gmf")


def test_anchored_thresholds(panel: rl.Ratings, tmp_path: Path) -> None:
    path = tmp_path / "study.txt"
    rl.write_facets(panel, path)
    scale = "Models = ?,?,?,Mark\nRating scale = Mark,R2\n0=low,0,A\n1=mid,-1.1,A\n2=top,1.1,A\n*"
    path.write_text(path.read_text().replace("Models = ?,?,?,R2", scale))
    study = rl.read_facets(path)
    assert study.thresholds == (-1.1, 1.1)
    fit = rl.fit(study.ratings, "tfm", anchors=study.anchors("tfm"), standard_errors=False)
    assert fit.table("thresholds")["threshold"].to_list() == pytest.approx([-1.1, 1.1])


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("1, Students", "1, Students, A"), "students are anchored"),
        (("Positive = 1", "Positive = 1\nUmean = 50,10"), "other units than logits"),
    ],
)
def test_anchors_that_cannot_be_held(
    panel: rl.Ratings, change: tuple[str, str], what: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.txt"
    rl.write_facets(panel, path)
    anchored(path, "Raters", ANCHORS)
    text = path.read_text().replace(*change)
    path.write_text(text.replace("1 = S01", "1 = S01, 0.3"))
    with pytest.raises(rl.RaterlensError, match=what):
        rl.read_facets(path)


def test_labels_that_hold_separators_stay_apart(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"student": ["a,1", "a;1", "b"], "rater": ['Ann "A"', "Bob=", "Bob="], "score": [0, 1, 1]}
    )
    write_facets(read(frame), tmp_path / "study.txt")
    again = read(tmp_path / "study.txt")
    assert again.students.to_list() == ["a,1", "a;1", "b"]
    assert again.score.tolist() == [0, 1, 1]


@pytest.mark.parametrize(("scale", "sign"), [("rating scale", "?,?,?"), ("partial credit", "?,?,#")])
def test_the_file_in_full(scale: str, sign: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"student": ["s", "t"], "rater": ["a", "a"], "item": ["i", "i"], "score": [2, 0]})
    write_facets(read(frame), tmp_path / "x.txt", title="Two; marks", scale=scale)
    assert (tmp_path / "x.txt").read_text().splitlines() == [
        "Title = Two  marks",
        "Facets = 3",
        "Positive = 1",
        "Non-centered = 1",
        "Inter-rater = 2",
        f"Models = {sign},R2",
        *(
            "Labels =",
            "1, Students",
            "1 = s",
            "2 = t",
            "*",
            "2, Raters",
            "1 = a",
            "*",
            "3, Items",
            "1 = i",
            "*",
        ),
        *("Data =", "1,1,1,2", "2,1,1,0"),
    ]


def test_a_folder_is_no_file(panel: rl.Ratings, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"cannot write .*: Is a directory; give a file you may write to"):
        write_facets(panel, tmp_path)
