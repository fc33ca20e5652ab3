"""The gate: who fails by the estimate, who by the interval, and what a pipeline is told."""

import inspect
import json
from dataclasses import fields, replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import AT_FAULT, DONE, GATE_FAILED, main
from raterlens.base.errors import OptionError
from raterlens.judging import BOUNDS, Bounds
from raterlens.judging.gate import FAILED, NEW, PASSED, beyond
from tests.support.judge_panels import PEOPLE, panel


@pytest.fixture(scope="module")
def ratings() -> rl.Ratings:
    """Six raters of 150 students: R5 is severe beyond doubt, R6 hardly discriminates."""
    return rl.simulate(
        students=150,
        raters=6,
        items=4,
        slope=[2.0, 1.8, 1.9, 2.0, 1.8, 0.3],
        severity=[0.0, 0.2, -0.2, -0.5, 2.5, 0.0],
        raters_per_student=4,
        seed=3,
    ).ratings


@pytest.fixture(scope="module")
def fit(ratings) -> rl.Fit:
    return rl.fit(ratings, model="gmf")


def test_intervals_decide_or_estimates(fit):
    table = fit.table("raters")
    for bound in (0.2, 0.5, 0.8, 0.9):
        by_estimate, by_interval = (
            rl.gate(fit, min_kappa=bound, confident=False),
            rl.gate(fit, min_kappa=bound),
        )
        assert set(by_estimate.failed) == set(table.filter(pl.col("kappa") < bound)["rater"])
        assert set(by_interval.failed) == set(table.filter(pl.col("kappa_high") < bound)["rater"])
        assert by_estimate.passed == (not by_estimate.failed)
    assert set(rl.gate(fit, min_kappa=0.9).failed) < set(rl.gate(fit, min_kappa=0.9, confident=False).failed)


@pytest.mark.parametrize(
    ("before", "estimate", "fails"),
    [
        (NEW, 0.31, True),  # by 2.04 standard errors
        (NEW, 0.33, False),
        (PASSED, 0.31, False),
        (PASSED, 0.2, True),  # by 3.3 standard errors
        (PASSED, 0.21, False),
        (FAILED, 0.45, True),
        (FAILED, 0.5, False),
    ],
)
def test_an_earlier_verdict_stands_until_it_is_clearly_wrong(before, estimate, fails):
    """A bound of 0.5 and standard errors of 0.09: by 1.96 of them without an earlier verdict."""
    value, half = np.array([estimate]), 1.96 * 0.0909
    for sign, span in ((1, (0.5, np.inf)), (-1, (-np.inf, -0.5))):
        found = beyond(sign * value, (sign * value - half, sign * value + half), span, np.array([before]))
        assert found.tolist() == [fails]


def test_a_baseline_holds_the_verdicts_of_raters_near_the_bound(fit):
    weak = fit.table("raters").row(by_predicate=pl.col("rater") == "R6", named=True)
    bound = weak["kappa_high"] + 0.005
    assert "R6" in rl.gate(fit, min_kappa=bound).failed
    better = fit.table("raters").with_columns(kappa=pl.lit(0.9), kappa_high=pl.lit(0.95))
    passed = replace(fit, tables={**fit.tables, "raters": better})
    assert "R6" not in rl.gate(fit, min_kappa=bound, baseline=passed).failed
    assert "R6" in rl.gate(fit, min_kappa=bound, baseline=fit).failed
    assert "R6" in rl.gate(fit, min_kappa=bound, baseline=passed, confident=False).failed


def test_severity_counts_either_way(fit):
    eta = dict(fit.table("raters").select("rater", "eta").iter_rows())
    assert rl.gate(fit, max_severity=1.5).failed == ("R5",)
    mild = min(eta.values())
    assert mild < -0.5
    assert {"R5", min(eta, key=eta.get)} <= set(
        rl.gate(fit, max_severity=-mild - 0.01, confident=False).failed
    )


def test_every_bound_is_a_row_with_its_measure(fit, ratings):
    found = rl.gate(fit, ratings, max_infit=1.3, max_outfit=2, min_discrimination=0.4, min_ratings=401)
    raters, misfit = fit.table("raters"), fit.diagnose(ratings).table("raters")
    for measure, expected in (
        ("infit", misfit["infit"]),
        ("outfit", misfit["outfit"]),
        ("discrimination", raters["rho"]),
        ("ratings", raters["n"]),
    ):
        rows = found.table.filter(measure=measure)
        np.testing.assert_allclose(rows["value"], expected)
    assert "R6" in found.failed
    few = set(raters.filter(pl.col("n") < 401)["rater"])
    assert few == set(found.table.filter(~pl.col("passed"), measure="ratings")["rater"])


def test_an_infit_interval_is_as_sure_as_its_z(fit, ratings):
    z = fit.diagnose(ratings).table("raters")["infit_z"].to_numpy()
    rows = rl.gate(fit, ratings, max_infit=1.0).table
    beyond_one = (rows["low"] > 1) | (rows["high"] < 1)
    assert beyond_one.to_list() == (np.abs(z) > 1.96).tolist()


def test_only_those_asked_for_are_judged(fit):
    assert rl.gate(fit, max_severity=1.5, raters=["R1", "R2"]).passed
    with pytest.raises(OptionError, match="unknown rater 'R9'"):
        rl.gate(fit, max_severity=1.5, raters=["R9"])


def test_a_fit_that_did_not_converge_does_not_pass(ratings):
    stopped = rl.fit(ratings, model="gmf", max_iterations=1)
    assert not stopped.converged
    found = rl.gate(stopped, min_kappa=0.0)
    assert not found.passed
    assert found.failed == ()
    assert "did not converge" in found.summary()


def test_a_latent_class_fit_has_a_capability_but_no_infit(ratings):
    fit = rl.fit(ratings, "hrm")
    assert rl.gate(fit, min_kappa=0.3).failed == ("R6",)
    with pytest.raises(OptionError, match="model 'hrm' has no infit"):
        rl.gate(fit, ratings, max_infit=1.2)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({}, r"every rater would pass; set one, for example min_kappa=0\.6"),
        ({"min_kappa": -0.1}, r"min_kappa=-0\.1"),
        ({"min_kappa": float("nan")}, "min_kappa=nan"),
        ({"max_severity": "1"}, "max_severity='1'"),
        ({"max_infit": 1.2}, "give them too"),
    ],
)
def test_bad_bounds_are_refused(fit, bounds, message):
    with pytest.raises(OptionError, match=message):
        rl.gate(fit, **bounds)


def test_the_summary_says_who_fails_what_and_how_surely(fit):
    severe = fit.table("raters").row(by_predicate=pl.col("rater") == "R5", named=True)["eta"]
    first, line = rl.gate(fit, min_kappa=0.0, max_severity=1.5).summary().splitlines()
    assert first == "failed: 1 of 6 raters below kappa 0 or outside severity -1.5 to 1.5"
    assert line.startswith(f"  R5: severity {severe:.2f} (")
    assert line.endswith(", needs -1.5 to 1.5")
    close = rl.gate(fit, max_severity=severe - 0.01, confident=False).summary()
    assert close.endswith(f", needs -{severe - 0.01:g} to {severe - 0.01:g}; the interval includes it")
    assert rl.gate(fit, min_ratings=1).summary() == "passed: none of 6 raters with fewer than 1 rating"


def test_checks_are_the_kind_of_frame_that_came_in(ratings):
    assert isinstance(
        rl.gate(rl.fit(ratings.table().to_pandas(), model="gmf"), min_kappa=0.5).checks, pd.DataFrame
    )


# ------------------------------------------------------------------------------------------ command line


@pytest.fixture
def table(ratings, tmp_path):
    path = tmp_path / "ratings.csv"
    ratings.table().write_csv(path)
    return str(path)


def test_exit_codes_tell_a_pipeline_what_happened(table, capsys):
    assert main(["check", table, "--min-kappa", "0.05"]) == DONE
    assert main(["check", table, "--max-severity", "1.5"]) == GATE_FAILED == 3
    assert "R5: severity" in capsys.readouterr().out
    assert main(["check", table, "--max-severity", "1.5", "--only", "R1,R2"]) == DONE
    assert main(["check", table, "--min-kappa", "much"]) == AT_FAULT
    assert main(["check", table, "--by-estimate"]) == AT_FAULT
    assert main(["check", table, "--model", "tfm"]) == AT_FAULT
    assert main(["check", "nowhere.csv", "--min-kappa", "0.5"]) == AT_FAULT
    errors = capsys.readouterr().err
    assert "add one, such as --min-sharpness 0.5" in errors


def test_the_result_is_machine_readable(table, ratings, capsys):
    assert main(["check", table, "--min-kappa", "0.5", "--max-severity", "1.5", "--json"]) == GATE_FAILED
    content = json.loads(capsys.readouterr().out)
    assert content["passed"] is False
    assert set(content["failed"]) == {"R5", "R6"}
    assert content["bounds"] == {"min_kappa": 0.5, "max_severity": 1.5}
    assert "rater column: 'rater' (recognised)" in content["notes"]
    kappa = {row["rater"]: row["value"] for row in content["checks"] if row["measure"] == "kappa"}
    np.testing.assert_allclose(list(kappa.values()), rl.fit(ratings).table("raters")["kappa"], atol=1e-6)
    assert main(["check", table, "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["n_raters"] == 6


def test_sharpness_is_judged_whoever_else_is_in_the_file(ratings):
    """Without the sharpest rater, the same judges fail; kappa's bound would let one of them pass."""
    whole, kept = rl.fit(ratings, model="gmf"), ratings.table().filter(pl.col("rater") != "R1")
    part = rl.fit(rl.read(kept, student="student", rater="rater", item="item", score="score"), model="gmf")
    found = [set(rl.gate(fit, min_sharpness=0.5).failed) for fit in (whole, part)]
    assert found[0] == found[1] == {"R6"}


def test_a_gate_is_true_where_it_passed(fit):
    assert rl.gate(fit, min_ratings=1)
    assert not rl.gate(fit, min_sharpness=0.9)


@pytest.mark.parametrize("bound", ["min_kappa", "min_sharpness", "min_discrimination"])
def test_shares_beyond_1_make_no_sense(fit, bound):
    with pytest.raises(OptionError, match="give a number between 0 and 1"):
        rl.gate(fit, **{bound: 60})


def test_the_command_writes_files_and_compares(tmp_path, capsys, ratings):
    table, last = tmp_path / "ratings.csv", tmp_path / "last.json"
    ratings.table().write_csv(table)
    rl.fit(ratings, model="gmf").save(last)
    files = ["--markdown", str(tmp_path / "gate.md"), "--junit", str(tmp_path / "gate.xml")]
    command = [
        "check",
        str(table),
        "--min-sharpness",
        "0.5",
        "--reference",
        "perfect",
        "--baseline",
        str(last),
    ]
    assert main([*command, *files]) == GATE_FAILED
    assert "R6: sharpness" in capsys.readouterr().out
    assert (tmp_path / "gate.md").read_text().startswith("### Raterlens: failed")
    assert (tmp_path / "gate.xml").read_text().startswith("<?xml")
    assert main(["check", str(table), "--junit", str(tmp_path / "x.xml")]) == AT_FAULT
    assert "--min-sharpness 0.5" in capsys.readouterr().err
    assert main([*command[:2], "--min-kappa", "60"]) == AT_FAULT
    assert "--min-kappa 60; give a number between 0 and 1" in capsys.readouterr().err


def test_a_gate_with_trusted_raters_allows_for_what_the_others_share(tmp_path):
    """Judges who like long answers pass in a fit of everybody; with trusted raters their liking is a dimension."""
    ratings = panel()
    ratings.table().write_csv(tmp_path / "verdicts.csv")
    command = ["check", str(tmp_path / "verdicts.csv"), "--min-kappa", "0.6", "--only", "peer,long 1"]
    assert main(command) == DONE
    assert main([*command, "--trusted", ",".join(PEOPLE)]) == GATE_FAILED
    plain = rl.gate(
        rl.fit(ratings, model="gmf", trusted=PEOPLE, shared=False, standard_errors=False), min_kappa=0.6
    )
    assert "raterlens judge --trusted measures each" in plain.notes[-1]


@pytest.fixture(scope="module")
def odd_labels() -> rl.Gate:
    ratings = rl.simulate(students=120, raters=3, items=3, slope=[2.0, 2.0, 0.1], seed=1).ratings
    names = {"R1": "a|b", "R2": "<i>&", "R3": "*bad*\n"}
    table = ratings.table()
    renamed = table.with_columns(table["rater"].cast(str).replace(names).alias("rater"))
    fit = rl.fit(rl.read(renamed, student="student", rater="rater", item="item", score="score"), model="gmf")
    return rl.gate(fit, min_sharpness=0.5, min_ratings=10)


def test_markdown_has_a_row_per_failure_and_no_markup_from_labels(odd_labels):
    text = odd_labels.to_markdown()
    assert text.startswith("### Raterlens: failed: 1 of 3 raters below sharpness 0.5")
    row = next(line for line in text.splitlines() if "**failed**" in line)
    assert row.count(" | ") == 5
    assert "\\*bad\\*" in row
    assert "<i>" not in text


def test_junit_has_a_case_per_rater_and_bound(odd_labels):
    suite = ElementTree.fromstring(odd_labels.to_junit().split("\n", 1)[1])
    assert suite.get("tests") == str(len(suite)) == "7"
    failed = [case for case in suite if case.find("failure") is not None]
    assert suite.get("failures") == str(len(failed)) == "1"
    assert "sharpness" in failed[0].get("name")
    assert "needs 0.5" in failed[0].find("failure").get("message")


def test_the_gate_takes_exactly_these() -> None:
    keywords = [
        name
        for name, parameter in inspect.signature(rl.gate).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    assert keywords == [*(field.name for field in fields(Bounds)), "baseline"]
    assert set(keywords) - set(BOUNDS) == {"confident", "raters", "baseline"}


def test_what_was_set_and_what_cannot_be() -> None:
    assert Bounds(min_kappa=0, max_infit=1.2, confident=True).given() == {"min_kappa": 0, "max_infit": 1.2}
    for value in (-1, float("inf"), True, "1"):
        with pytest.raises(OptionError, match="give a number between 0 and 1") as refused:
            Bounds(min_kappa=value)  # type: ignore[arg-type]
        assert (refused.value.option, refused.value.value) == ("min_kappa", value)
