"""Replacement: judges as capable as they should be, and from draw to page and figure on one replication."""

import numpy as np
import pytest

import raterlens as rl
from benchmarks.studies import replacement
from raterlens.studies.study import Task
from tests.support.replications import replicated

pytestmark = pytest.mark.nightly


def test_from_draw_to_page_and_figure(monkeypatch):
    monkeypatch.setattr(replacement, "SIZES", (150,))
    study = replacement.STUDY
    rows = study.replicate(Task(1, 0))
    assert rows["short"].to_list() == [0.1, 0.05, 0.0]
    assert set(rows["verdict"]) <= {"yes", "no", "unclear"}
    results = study.summarise(replicated(rows))
    assert f"python -m benchmarks.studies {study.name} --replications 2" in results.markdown
    assert "May stand in" in str(study.draw(results).to_dict())


@pytest.mark.parametrize("short", [0.1, 0.0])
def test_the_judge_is_as_far_below_people_as_it_says(short):
    """By adding up capability on a fine grid of abilities."""
    theta = np.linspace(-8, 8, 3201)
    weight = np.exp(-(theta**2) / 2) / np.sqrt(2 * np.pi) * (theta[1] - theta[0])

    def capability(slope: float, severity: float) -> float:
        rate = 1 / (1 + np.exp(severity - slope * theta))
        return float(np.sqrt(2 * np.pi) * np.sum(slope * rate * (1 - rate) * weight))

    origin = np.mean([severity for _, severity in replacement.PEOPLE.values()])
    people = np.mean([capability(a, b - origin) for a, b in replacement.PEOPLE.values()])
    judge = capability(replacement.judge_slope(short), replacement.SEVERITY - origin)
    assert judge == pytest.approx(people - short, abs=1e-6)


def test_two_people_and_the_judge_per_answer():
    ratings = replacement.draw_verdicts(0.0, 100, [1])
    assert isinstance(ratings, rl.Ratings)
    assert ratings.n_ratings == 100 * 3 * 2
