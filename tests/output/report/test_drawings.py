"""The pictures of the report: every rater, where the numbers say, and no chart library loaded."""

import re
import subprocess
import sys
from dataclasses import replace
from xml.etree import ElementTree

import polars as pl
import pytest

import raterlens as rl
from raterlens.diagnostics.findings import Alarm, Interval, panel_findings
from raterlens.output.report.drawings import category_numbers, category_shares, frames
from raterlens.output.report.page import content
from raterlens.pictures.ranking import capability_data, rater_rows
from tests.support.chart_cases import with_raters
from tests.support.report_fits import HOSTILE, MakeFit


def drawn(fit, name: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(one) for one in content(fit)["pictures"][name]]


def titles(root: ElementTree.Element) -> list[str]:
    return [title.text or "" for title in root.iter("title")][1:]


@pytest.mark.parametrize("n_raters", [1, 16, 300])
def test_every_rater_is_in_both_pictures_at_both_widths(make_fit: MakeFit, n_raters: int) -> None:
    fit = make_fit(n_raters)
    words = capability_data(fit)["words"].to_list()
    for picture in ("capability", "severity"):
        for root in drawn(fit, picture):
            assert sorted(titles(root)) == sorted(words)


def test_rows_are_named_and_long_names_are_cut(make_fit: MakeFit) -> None:
    wide, narrow = drawn(make_fit(len(HOSTILE), names=HOSTILE), "capability")
    assert HOSTILE[0] in [one.text for one in wide.iter("text")]
    assert any(one.text.endswith("…") for one in narrow.iter("text"))


def test_the_interval_is_drawn_where_it_is(make_fit: MakeFit) -> None:
    fit = with_raters(make_fit(3), kappa=pl.lit(0.5), kappa_low=pl.lit(0.25), kappa_high=pl.lit(0.75))
    for root in drawn(fit, "capability"):
        frame = next(p for p in root.iter("path") if p.get("stroke") == "var(--line)").get("d")
        width = float(frame.split("h")[1].split("v")[0])
        rules = [p.get("d") for p in root.iter("path") if p.get("stroke-width") == "3"]
        ends = [float(end) / width for end in re.findall(r"[ML]([\d.]+) ", "".join(rules))]
        assert ends == pytest.approx([0.25, 0.75] * 3, abs=0.005)


def test_a_missing_interval_leaves_the_point(make_fit: MakeFit) -> None:
    fit = with_raters(make_fit(3), kappa_low=pl.lit(float("nan")), kappa_high=pl.lit(None, dtype=pl.Float64))
    assert len(titles(drawn(fit, "capability")[0])) == 3


def test_a_report_loads_no_chart_library() -> None:
    code = (
        "import sys; from tests.support.report_fits import rendered; rendered(3, 2, False); "
        "print(*[m for m in ('altair', 'vl_convert') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_ordered_scores_have_their_categories_and_every_rater_its_shares() -> None:
    ratings = rl.simulate(students=60, raters=3, items=2, thresholds=[-1.0, 1.0], seed=4).ratings
    fit = rl.fit(ratings, model="gmf")
    found = content(fit, ratings=ratings)
    assert "categories" in found["sections"]
    assert len(found["pictures"]["category_use"]) == 2
    assert 'class="bars"' in found["pictures"]["frames"]["categories"]
    assert 'class="now"' in found["pictures"]["frames"]["strip"]
    shares = category_shares(fit.diagnose(), ratings)
    numbers = category_numbers(shares, ["R3", "R1", "nobody"])
    assert numbers is not None
    code = ratings.raters.to_list().index("R3")
    given = [1000 * (ratings.score[ratings.rater == code] == k).mean() for k in range(3)]
    assert numbers["observed"][0] == pytest.approx(given, abs=0.5)
    assert sum(numbers["expected"][1]) == pytest.approx(1000, abs=2)
    assert numbers["margin"][2] is None


def test_pass_and_fail_has_none(make_fit: MakeFit) -> None:
    fit = make_fit(3)
    assert category_shares(None, None) is None
    assert content(fit)["pictures"]["categories"] == ()
    numbers = {"curve": None, "what_if": {"severity": (-3.0, 3.0), "kappa": [[500]]}}
    assert frames(fit, rater_rows(fit), numbers, None)["categories"] is None


def test_pictures_show_the_status_that_the_table_shows(make_fit: MakeFit) -> None:
    fit = make_fit(3)
    found = panel_findings(fit)
    drifting = replace(found.raters[0], alarm=Alarm(Interval(0.9, 0.5, 1.3), "since Monday", "logits"))
    data = capability_data(fit, rater_rows(fit, [drifting, *found.raters[1:]]))
    assert data.filter(rater=drifting.rater)["status"].item() == drifting.status
    assert drifting.status != found.raters[0].status
