"""Studies: replications, folders, pages and figures."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.studies import named_rows
from raterlens import capability
from raterlens.base.errors import OptionError
from raterlens.base.layers import Axis, strokes
from raterlens.base.picture import Picture
from raterlens.studies import STUDIES, STUDY_HELP, paper
from raterlens.studies.study import (
    HEIGHT,
    Folder,
    Study,
    Task,
    accuracy,
    curves,
    get_study,
    kinds,
    page,
    run,
    save,
    table,
    with_error,
)

# --------------------------------------------------------- how studies run, are resumed and summarised


def test_replications_have_independent_streams():
    draws = {np.random.default_rng(Task(1, index).entropy).random() for index in range(50)}
    assert len(draws) == 50
    assert Task(1, 2).entropy != Task(2, 1).entropy


def test_an_unknown_study_is_answered_by_those_there_are():
    with pytest.raises(OptionError, match=r"unknown study 'nois'; did you mean 'noise'\?"):
        get_study("nois")


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_of_the_catalogue_is_there(name):
    study = get_study(name)
    assert isinstance(study, Study)
    assert study.name == name
    assert f"\n  {name} " in STUDY_HELP


REPLICATIONS = 2
NAMES = ("noise.parquet", "noise.json", "noise.md", "noise-accuracy.csv")


def command(out: Path, *more: str) -> list[str]:
    code = "import sys; from raterlens.app.cli.main import main; sys.exit(main())"
    return [
        sys.executable,
        "-c",
        code,
        "study",
        "noise",
        "--replications",
        str(REPLICATIONS),
        "--out",
        str(out),
        *more,
    ]


def wait_for(condition, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    subprocess.run(command(out, "--workers", "2"), check=True, capture_output=True)
    return out


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups are POSIX")
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_a_stopped_study_goes_on_to_the_same_bytes(uninterrupted, tmp_path, how):
    parts = Folder(tmp_path, "noise").parts.folder
    first = subprocess.Popen(
        command(tmp_path, "--workers", "1"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: parts.exists() and len(list(parts.glob("*.parquet"))) >= 1)
    first.send_signal(getattr(signal, how))
    assert first.wait() == {"SIGKILL": -signal.SIGKILL, "SIGINT": 130}[how]
    wait_for(lambda: not alive(first.pid))  # workers end with it
    left = {path.name: path.stat().st_mtime_ns for path in parts.glob("*.parquet")}
    assert 1 <= len(left) < REPLICATIONS
    assert not (tmp_path / "noise.md").exists()

    subprocess.run(command(tmp_path, "--workers", "1"), check=True, capture_output=True)
    assert not parts.exists()
    for name in NAMES:
        assert (tmp_path / name).read_bytes() == (uninterrupted / name).read_bytes(), name


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> pl.DataFrame:
    out = tmp_path_factory.mktemp("rows")
    return run(get_study("noise"), out, replications=REPLICATIONS, seed=2025, workers=1)


def test_more_replications_only_add_to_those_there_are(rows, tmp_path):
    seen: list[tuple[int, int]] = []
    study = get_study("noise")
    run(study, tmp_path, replications=1, seed=2025, workers=1)
    more = run(study, tmp_path, replications=2, seed=2025, workers=1, on_done=lambda *done: seen.append(done))
    assert seen == [(1, 2), (2, 2)]
    assert more.equals(rows.filter(pl.col("replication") < 2))
    fewer = run(study, tmp_path, replications=1, seed=2025, workers=1)
    assert fewer.equals(rows.filter(pl.col("replication") < 1))


def test_replications_differ(rows):
    estimates = [part["estimate"].to_list() for part in rows.partition_by("replication")]
    assert len(estimates) == REPLICATIONS
    assert len(set(map(tuple, estimates))) == REPLICATIONS


def test_a_folder_with_another_seed_is_refused(tmp_path):
    place = Folder(tmp_path, "noise")
    (place.path / "noise.json").write_text(
        json.dumps({"study": "noise", "seed": 1, "data": None, "version": "0.1.0"})
    )
    with pytest.raises(OptionError, match=r"was begun with seed 1, not 2; give another folder"):
        run(get_study("noise"), tmp_path, replications=1, seed=2)


def test_accuracy_by_hand():
    rows = pl.DataFrame(
        {
            "replication": [0, 0, 1, 1],
            "level": ["a", "b", "a", "b"],
            "truth": 1.0,
            "estimate": [1.1, 0.9, 1.3, 0.9],
        }
    )
    each = accuracy(rows, ["level"])
    assert each["bias"].to_list() == pytest.approx([0.2, -0.1])
    assert each["rmse"].to_list() == pytest.approx([np.sqrt((0.01 + 0.09) / 2), 0.1])
    assert each["bias_se"].to_list() == pytest.approx([np.std([0.1, 0.3], ddof=1) / np.sqrt(2), 0.0])
    pooled = accuracy(rows.with_columns(all=pl.lit("all")), ["all"])
    assert pooled["bias"].item() == pytest.approx(0.05)
    assert pooled["rmse"].item() == pytest.approx(np.sqrt(np.mean([0.01, 0.01, 0.09, 0.01])))


def test_standard_errors_are_those_of_repeated_studies():
    # 400 studies of 50 replications each: the spread of their bias and RMSE is the mean standard error they report.
    random = np.random.default_rng(1)
    rows = pl.DataFrame(
        {
            "study": np.repeat(np.arange(400), 50),
            "replication": np.tile(np.arange(50), 400),
            "truth": 0.0,
            "estimate": random.normal(0.3, 1.0, 20_000),
        }
    )
    found = accuracy(rows, ["study"])
    assert found["bias"].std() == pytest.approx(found["bias_se"].mean(), rel=0.15)
    assert found["rmse"].std() == pytest.approx(found["rmse_se"].mean(), rel=0.15)


def test_a_table_has_a_heading_an_alignment_and_rows():
    assert table(["Rater", "κ̄"], [["AM", "0.83"]]) == "| Rater | κ̄ |\n| --- | ---: |\n| AM | 0.83 |"


def test_errors_stand_behind_their_numbers():
    assert with_error(-0.0004, 0.0021) == "0.000 ± 0.002"
    assert with_error(math.nan, 0.1) == "– ± 0.100"


def test_a_page_leaves_out_what_is_empty():
    assert page("# Title", "", "Text. ") == "# Title\n\nText.\n"


# ----------------------------------------------------------- the paper's figures, and the style of all


DATA = pl.DataFrame({"x": [0, 1, 0, 1], "y": [0.0, 1.0, 1.0, 0.5], "kind": ["b", "b", "a", "a"]})
ENDS = Axis(0.0, 1.0)


def picture(points: bool = False) -> Picture:
    return Picture((curves(DATA, ("x", "y", "kind"), ENDS, ENDS, points=points),), "Two curves.", HEIGHT)


def test_curves_keep_the_order_of_the_data_and_differ_in_colour_and_dash():
    first, second = picture().legend()
    assert [first.words, second.words] == ["b", "a"]
    assert first.role != second.role
    assert first.dash != second.dash


def test_points_are_added_where_asked_for_and_named_once():
    (panel,) = picture(points=True).panels
    assert [type(layer).__name__ for layer in panel.layers] == ["Line", "Marks", "Line", "Marks"]
    assert [key.words for key in picture(points=True).legend()] == ["b", "a"]


def test_more_than_six_curves_and_marks_still_differ():
    names = [f"n{place}" for place in range(20)]
    looks = {(look.role, look.dash) for look in strokes(names)}
    marks = {(one.role, one.shape) for one in kinds(names).values()}
    assert len(looks) == len(marks) == 20


def test_a_row_per_name_with_a_mark_for_each_kind():
    rows = pl.DataFrame({"who": ["b", "a", "b"], "size": [0.1, 0.2, 0.3], "what": ["x", "x", "y"]})
    panel = named_rows(rows, ("who", "size", "what"), ENDS, ["a", "b"])
    (marks,) = panel.layers
    assert marks.rows["row"].to_list() == [1.25, 0.25, 1.75]
    assert [one.words for one in marks.entries()] == ["x", "y"]


def test_a_figure_is_written_as_svg_and_png(tmp_path):
    svg, png = save({"one": picture()}, tmp_path)
    assert (svg.name, png.name) == ("one.svg", "one.png")
    assert b"<svg" in svg.read_bytes()[:200]
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_full_disk_leaves_the_figure_that_was_there(tmp_path, monkeypatch):
    def half(self, content):
        self.write_text("<svg")
        raise OSError(28, "No space left on device")

    svg, _ = save({"one": picture()}, tmp_path)
    before = svg.read_bytes()
    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OptionError, match=r"one.svg': No space left on device"):
        save({"one": picture()}, tmp_path)
    assert svg.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


def test_curves_of_the_three_facets_model_peak_at_their_severity():
    left, right = paper.tfm_data()
    for name, peak in (("η = −5", -5), ("η = 0", 0), ("η = 5", 5)):
        curve = left.filter(pl.col("curve") == name)
        top = curve.row(int(curve["y"].arg_max()), named=True)
        assert top["x"] == pytest.approx(peak, abs=0.05)
        assert top["y"] == pytest.approx(0.25 / 0.206621, abs=1e-3)
    assert right["y"].max() == pytest.approx(1)


def test_curves_of_the_probit_model_have_the_printed_discriminations_at_severity_zero():
    _, right = paper.probit_data()
    at_zero = right.filter(pl.col("x").abs() < 1e-9)
    assert at_zero["y"].to_list() == pytest.approx([0.80, 0.62, 0.50], abs=0.006)


def test_curves_of_the_hierarchical_model_rise_with_the_slope():
    data = paper.hrm_data()
    tops = data.group_by("curve", maintain_order=True).agg(pl.col("y").max())["y"].to_list()
    assert tops == sorted(tops)
    np.testing.assert_allclose(
        tops, capability.hrm(criterion=np.array([1, 3, 5, 7, 9]) / 2, slope=[1, 3, 5, 7, 9])
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    return {path.name: path for path in save(paper.figures(), folder)}


def test_every_figure_is_written_as_svg_and_png(written):
    assert len(written) == 8
    for name, path in written.items():
        start = path.read_bytes()[:200]
        assert start.startswith(b"\x89PNG") if name.endswith("png") else b"<svg" in start


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("figure1-tfm.svg", ["Ability θ", "Capability κ(θ)", "Severity η", "Mean capability κ̄", "η = −5"]),
        ("figure3-probit.svg", ["noise 1.25, η = 0", "noise 1.75"]),
        ("figure4-hrm.svg", ["Criterion c", "a = 9"]),
    ],
)
def test_axes_and_legends_are_in_words_and_symbols(written, name, words):
    text = written[name].read_text(encoding="utf-8")
    for word in words:
        assert word in text
