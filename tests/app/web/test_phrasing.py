"""What goes wrong is told in the words of the pages: no argument of Python, no name that only the package knows."""

import re
from pathlib import Path

import pytest

from raterlens.app.web.phrasing import for_visitors
from raterlens.app.web.tasks import TASKS
from raterlens.app.web.worker import _do

ROLES = {"student": "student", "rater": "rater", "item": "item", "score": "score"}
LINES = [f"s{s},R{r},{item},{{}}" for s in range(4) for r in range(3) for item in "ab"]


def table(folder: Path, scores: list[object], header: str = "student,rater,item,score") -> Path:
    path = folder / "ratings.csv"
    path.write_text(
        "\n".join([header, *(line.format(scores[place % len(scores)]) for place, line in enumerate(LINES))])
    )
    return path


def told(path: Path, task: str = "check", *, cut: float | None = None, **model: object) -> str:
    arguments = {"path": str(path), "name": path.name, "sheet": None}
    if task != "preview":
        arguments |= {"roles": ROLES, "cut": cut, "wide": None}
    if task == "fit":
        arguments |= {"model": model, "folder": str(path.parent / "results")}
    answer = _do(TASKS, {"task": task, "arguments": arguments}, lambda said: None)
    assert answer["state"] == "fault", answer
    message: str = answer["message"]
    assert not re.search(r"\w=", message), message
    assert not re.search(r"'(gmf|tfm|probit|hrm|mml|laplace|hl|logit|log|graded)'", message), message
    return message


@pytest.mark.parametrize(
    ("scores", "cut", "said"),
    [
        ([0.5, 1], None, "give a pass mark: 3 makes every score >= 3 a pass and every other a fail"),
        ([-1, 1], None, "give a pass mark: 3"),
        ([3], None, "check the score column, or give a pass mark"),
        (
            [1, 2],
            3,
            "(score < the pass mark 3), so nothing can be estimated; check the score column and the pass mark",
        ),
    ],
)
def test_scores_that_ask_for_a_pass_mark(scores, cut, said, tmp_path):
    assert said in told(table(tmp_path, scores), cut=cut)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            {"model": "probit"},
            "model “Noise and threshold” takes pass (1) or fail (0); give a pass mark, for example 2, or use model "
            "“Severity and sharpness”",
        ),
        ({"model": "hrm"}, "give a pass mark, for example 2"),
        ({"method": "hl"}, "method “Hierarchical likelihood” takes pass (1) or fail (0); give a pass mark"),
        ({"link": "probit"}, "link “probit” needs scale “cumulative, shared” for ordered scores"),
        (
            {"model": "hrm", "shrink": True},
            "takes no “Draw raters towards the panel as far as they are uncertain”",
        ),
        (
            {"model": "hrm", "item_slopes": True},
            "takes no “Let items differ in how strongly they reflect ability”",
        ),
    ],
)
def test_choices_are_called_what_the_page_calls_them(model, said, tmp_path):
    assert said in told(table(tmp_path, [0, 1, 2]), "fit", **{"model": "gmf"} | model)


def test_what_the_page_does_not_ask_for_is_mended_in_the_file(tmp_path):
    path = table(tmp_path, [0, 1])
    path.write_bytes(path.read_text().replace("R0", "Zoë").encode("cp1252"))
    assert told(path, "preview").endswith("; save the file as UTF-8")
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    assert "ratings.csv" in told(path, "preview")


def test_a_blank_column_is_told_by_its_role(tmp_path):
    path = tmp_path / "blank.csv"
    path.write_text("student,rater,item,score\ns1,,a,1\ns2,,a,0\n")
    assert told(path).endswith("fill it in, or choose another column as Rater")


def test_choices_without_a_word_stay():
    assert for_visitors("use method 'newton' with 'cut' and rater 'the cut=3'") == (
        "use method 'newton' with 'cut' and rater 'the cut=3'"
    )
