"""Progress, on a terminal only."""

import sys
from io import StringIO
from itertools import pairwise
from types import SimpleNamespace

import pytest

from raterlens.app.cli.main import DONE, main
from raterlens.app.progress import Watch, parts_bar, progress_bar


class Screen(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with progress_bar() as silent, parts_bar("noise") as on_done:
        assert silent.on_iteration is None
        silent.start_stage("fitting")
        assert on_done is None
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar(hidden=True) as silent:
        assert silent.on_iteration is None
    assert screen.getvalue() == ""
    with progress_bar() as watch:
        watch.start_stage("diagnosing")
    assert "diagnosing" in screen.getvalue()
    with parts_bar("noise") as on_done:
        assert on_done is not None
        on_done(3, 7)
    assert "3/7" in screen.getvalue()


def test_the_bar_follows_the_optimiser_and_never_goes_back() -> None:
    seen: list[float] = []
    watch = Watch(lambda done, stage, last: seen.append(done))
    watch.start_stage("fitting")
    assert watch.on_iteration is not None
    for gradient in (40.0, 3.0, 0.1, 1e-6):
        watch.on_iteration(SimpleNamespace(stage="mml", iteration=3, loglik=-3297.7, gradient=gradient))
    assert seen[0] == seen[1] == pytest.approx(0.15)
    assert all(less < more for less, more in pairwise(seen[1:]))
    assert watch.done == pytest.approx(0.5)
    watch.start_stage("testing assumptions")
    at = watch.done
    watch.start_stage("fitting")
    assert watch.done == at


def test_a_fit_goes_through_all_stages(table, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[str] = []
    monkeypatch.setattr(Watch, "start_stage", lambda watch, stage: entered.append(stage))
    assert main(["fit", str(table), "--out", str(tmp_path / "results")]) == DONE
    stages = ["reading", "fitting", "standard errors", "testing assumptions", "diagnosing", "writing"]
    assert list(dict.fromkeys(entered)) == stages
