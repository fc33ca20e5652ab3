"""Tasks of a worker, called directly."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from raterlens.app.web.form import label, read_config
from raterlens.app.web.tasks import check, compare, fit, guess, patterns, preview
from raterlens.base.errors import InputError, OptionError, RaterlensError
from raterlens.config import ReadConfig
from raterlens.reading.formats import sources

ROLES = {name: name for name in ("student", "rater", "item", "score")}


def quiet(said: dict[str, Any]) -> None:
    pass


@pytest.fixture
def path(ratings: pl.DataFrame, tmp_path: Path) -> Path:
    """A file as the app keeps it, under a name of its own."""
    path = tmp_path / "table.csv"
    ratings.write_csv(path)
    return path


def test_a_preview_guesses_roles(path: Path) -> None:
    seen = preview(str(path), "mine.csv", None, quiet)
    assert (seen["n_rows"], seen["roles"], seen["spread"]) == (720, ROLES, "item")
    assert len(seen["rows"]) == 6


def test_faults_name_the_visitor_s_file(path: Path, tmp_path: Path) -> None:
    path.write_text("student,rater,item,score\n")
    for task, arguments in ((preview, {"sheet": None}), (check, {"read": read_config(ROLES, {}).given()})):
        with pytest.raises(InputError) as refused:
            task(str(path), "mine.csv", **arguments, progress=quiet)  # type: ignore[operator]
        message = refused.value.worded(label)
        assert "mine.csv" in message
        assert str(tmp_path) not in message
        assert "table.csv" not in message


@pytest.mark.parametrize(
    ("top", "asked", "option", "message"),
    [
        (
            2,
            {"model": "probit"},
            "cut",
            "for example the pass mark 2, or use the model “Severity and sharpness” (gmf)",
        ),
        (2, {"method": "hl"}, "cut", "method 'hl' takes pass (1) or fail (0); give the lowest passing score"),
        (2, {"link": "probit"}, "scale", "use the scale “graded” or the link “logit”"),
        (
            1,
            {"model": "hrm", "item_slopes": True},
            "item_slopes",
            "takes no “Let items differ”",
        ),
    ],
)
def test_faults_speak_as_the_page_does(
    ratings: pl.DataFrame, tmp_path: Path, top: int, asked: dict[str, Any], option: str, message: str
) -> None:
    path = tmp_path / "table.csv"
    ratings.with_columns(pl.col("score") + (pl.col("item") == 1) * (top - 1)).write_csv(path)
    with pytest.raises(RaterlensError) as refused:
        fit(str(path), "mine.csv", read_config(ROLES, {}).given(), asked, str(tmp_path), quiet)
    worded = refused.value.worded(label)
    assert message in worded
    assert not re.search(r"\w=", worded)
    assert refused.value.option == option


def test_a_fit_reports_progress_and_two_are_compared(path: Path, tmp_path: Path) -> None:
    said: list[dict[str, Any]] = []
    for model in ("tfm", "gmf"):
        (tmp_path / model).mkdir()
        found = fit(
            str(path),
            "mine.csv",
            read_config(ROLES, {}).given(),
            {"model": model, "covariance": "sandwich"},
            str(tmp_path / model),
            said.append,
        )
        assert found["converged"]
    shares = [step["share"] for step in said]
    stages = [step["stage"] for step in said if "step" not in step]
    assert (stages[0], stages[-2:]) == ("reading", ["diagnosing", "writing"])
    assert shares[: len(shares) // 2] == sorted(shares[: len(shares) // 2])
    report = (tmp_path / "gmf" / "report.html").read_text(encoding="utf-8")
    assert "raterlens fit mine.csv" in report
    assert "--covariance sandwich" in report
    both = compare([str(tmp_path / "tfm"), str(tmp_path / "gmf")], ["one", "two"], quiet)
    assert [row["fit"] for row in both["models"]] == ["one", "two"]
    assert len(both["raters"]) == 4


def test_a_fit_decides_and_plans_further_marks(path: Path, tmp_path: Path) -> None:
    read = read_config(ROLES, {}).given()
    fit(str(path), "mine.csv", read, {}, str(tmp_path), quiet, decide="0.5", remark=3)
    assert {"decisions.csv", "remark.csv"} <= {file.name for file in tmp_path.iterdir()}
    assert "--decide 0.5 --remark 3" in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(OptionError, match="but scores go from 0 to 1"):
        fit(str(path), "mine.csv", read, {}, str(tmp_path), quiet, decide="2")


def test_what_the_reader_understands_is_what_the_page_shows() -> None:
    frame = pl.DataFrame(
        {
            "pupil": ["a", "b", "c", "d", "e", "f"],
            "judge": list("XYXYXY"),
            "style": ["good", "bad", "good", "good", "bad", "good"],
            "age": [11.5, 12.5, 13.5, 14.5, 15.5, 16.5],
        }
    )
    found = guess(frame, ReadConfig())
    assert found.roles == {"pupil": "student", "judge": "rater", "style": "score"}
    assert (found.spread, found.config.map) == ("item", "good=1,bad=0")
    assert [one["certain"] for one in found.findings] == [True]


def test_a_table_that_cannot_be_read_yet_has_its_roles_as_far_as_they_go() -> None:
    frame = pl.DataFrame(
        {
            "pupil": ["a", "b", "c", "d", "e", "f"],
            "judge": list("XYXYXY"),
            "style": ["0", "1", "3", "2", "sublime", "1"],
            "number": [101, 102, 103, 104, 105, -1],
        }
    )
    found = guess(frame, ReadConfig())
    assert found.roles == {"pupil": "student", "judge": "rater", "style": "score"}
    assert found.findings == []


def test_names_that_make_a_grid() -> None:
    scores = ["R1 style", "R1 plot", "R2 style", "R2 plot"]
    known = patterns(scores)
    assert known == {"rater": "{rater}", "grid": "{rater} {item}", "turned": "{item} {rater}"}
    frame = pl.DataFrame({"student": ["a", "b"], **{name: [0, 1] for name in scores}})
    found = guess(frame, ReadConfig())
    assert (found.spread, found.patterns) == ("grid", known)
    marks = {"student": ["a", "b", "c", "d"], "Mark AM": [0, 1, 1, 0], "Mark BE": [1, 1, 0, 0]}
    single = guess(pl.DataFrame(marks), ReadConfig())
    assert (single.spread, single.patterns["rater"]) == ("rater", "Mark {rater}")


def test_double_marking_is_filled_in_and_read(tmp_path: Path) -> None:
    """Each marker column belongs to the mark column beside it; the form has no role for them."""
    path = tmp_path / "table.csv"
    names = ("Ann", "Bob", "Cy")
    rows = [f"S{n},{names[n % 3]},{n % 4},{names[(n + 1) % 3]},{(n + n % 2) % 4}" for n in range(60)]
    path.write_text("Candidate,Marker 1,Mark 1,Marker 2,Mark 2\n" + "\n".join(rows) + "\n")
    seen = preview(str(path), "mine.csv", None, quiet)
    assert seen["given"]["markers"] == "Marker {n}:Mark {n}"
    read = read_config(seen["roles"], seen["given"]).given()
    assert (
        check(str(path), "mine.csv", read, quiet)["data"]
        == "120 ratings of 60 students by 3 raters on 1 item"
    )


def test_a_preview_reads_the_file_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    opened = sources._opened

    def counting(*arguments: Any) -> Any:
        table = opened(*arguments)

        def take(wanted: Any) -> Any:
            taken.append(len(wanted))
            return table.take(wanted)

        return replace(table, take=take, query=None)

    monkeypatch.setattr(sources, "_opened", counting)
    preview(str(path), "mine.csv", None, quiet)
    assert taken == [4]
