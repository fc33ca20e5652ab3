"""How studies run, are resumed and summarised."""

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

from raterlens.base.errors import OptionError
from raterlens.studies import STUDIES, STUDY_HELP
from raterlens.studies.study import Folder, Study, Task, accuracy, get_study, page, run, table, with_error


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
    place.settings.write_text(json.dumps({"study": "noise", "seed": 1, "data": None, "version": "0.1.0"}))
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
