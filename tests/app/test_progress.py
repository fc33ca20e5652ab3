"""Progress, on a terminal only."""

import sys
from io import StringIO
from itertools import pairwise
from types import SimpleNamespace

import pytest

from raterlens.app.cli.main import DONE, main
from raterlens.app.progress import STAGES, Watch, parts_bar, progress_bar


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
    assert seen[0] == seen[1] == pytest.approx(0.3)
    assert all(less < more for less, more in pairwise(seen[1:]))
    assert watch.done == pytest.approx(0.6)
    watch.start_stage("testing assumptions")
    at = watch.done
    watch.start_stage("fitting")
    assert watch.done == at


def stages_of(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[str]:
    entered: list[str] = []
    monkeypatch.setattr(Watch, "start_stage", lambda watch, stage: entered.append(stage))
    assert main(["fit", *arguments]) == DONE
    return list(dict.fromkeys(entered))


def test_a_fit_goes_through_all_stages(table, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = ("--out", str(tmp_path / "results"))
    assert stages_of(monkeypatch, str(table), *out) == list(STAGES)
    named = ["reading", "fitting", "standard errors", "testing assumptions", "diagnosing", "writing"]
    assert stages_of(monkeypatch, str(table), "--model", "gmf", *out) == named


def test_iterations_count_for_the_stage_that_they_are_in() -> None:
    seen: list[tuple[float, str]] = []
    watch = Watch(lambda done, stage, last: seen.append((done, stage)))
    for stage in ("testing assumptions", "fitting"):
        watch.start_stage(stage)
        assert watch.on_iteration is not None
        watch.on_iteration(SimpleNamespace(stage="mml", iteration=3, loglik=-3297.7, gradient=1e-6))
    assert [stage for _, stage in seen] == ["testing assumptions"] * 2 + ["fitting"] * 2
    assert [done for done, _ in seen] == pytest.approx([0.15, 0.3, 0.3, 0.6])
