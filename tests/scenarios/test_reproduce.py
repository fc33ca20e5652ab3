"""How to reproduce, tried: the command and the Python call that a report prints give the same raters, byte for byte."""

import html
import os
import re
import shlex
import shutil
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import AT_FAULT, DONE, main
from raterlens.output.folder import harmless
from tests.support.facets_files import anchored

COMBINATIONS = int(os.environ.get("RATERLENS_COMBINATIONS", "8"))
"""Random combinations of options to try every night; more of them are a parameter away."""

# What a user may type, by option.
OPTIONS = {
    "--model": ["tfm", "tfm", "probit", "hrm", "dawid-skene"],
    "--method": ["laplace", "hl"],
    "--link": ["probit", "cloglog"],
    "--scale": ["partial credit", "graded"],
    "--reference": ["max corrected", "quantile 0.8", "R1", "1.5"],
    "--population": ["estimated", "normal 0.3 1.1", "window -0.2 0.4"],
    "--origin": ["absolute", "average", "0.25"],
    "--covariance": ["sandwich", "expected", "opg"],
    "--starts": ["2"],
    "--seed": ["3"],
    "--prior": ["panel", "none"],
    "--max-iterations": ["60"],
    "--anchors": ["earlier fit.json"],
    "--covariates": ["known.csv"],
    "--interactions": ["rater:item"],
}
SWITCHES = ["--item-slopes", "--allow-reversed", "--no-standard-errors"]
FILES: dict[str, list[list[str]]] = {
    "long.csv": [[], ["--item", "item", "--score", "mark"], ["--facets", "topic"], ["--time", "day"]],
    "marks.csv": [["--cut", "2"], ["--cut", "1"], [], ["--groups", "topic"]],
    "one row per essay.csv": [
        ["--student", "class,seat", "--rater", "judge", "--items", 'style,"plot, ending"', "--cut", "1"],
        ["--student", "class,seat", "--rater", "judge,topic", "--items", 'style,"plot, ending"'],
    ],
    "one column per rater.parquet": [["--student", "student", "--wide", "{rater}"]],
    "study.txt": [[], ["--cut", "1"]],
    "held.txt": [[]],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same few ratings in files of several layouts, an earlier fit, and what is known of the raters."""
    folder = tmp_path_factory.mktemp("ratings")
    binary = rl.simulate(students=24, raters=4, items=2, raters_per_student=3, seed=5).ratings
    ordered = rl.simulate(students=24, raters=4, items=2, thresholds=[-0.7, 0.7], seed=6).ratings
    number = pl.col("student").cast(pl.String).str.extract(r"(\d+)").cast(pl.Int64)
    extra = {"topic": number % 3, "day": pl.int_range(pl.len()) % 7}
    binary.table().rename({"score": "mark"}).with_columns(**extra).write_csv(folder / "long.csv")
    ordered.table().with_columns(**extra).write_csv(folder / "marks.csv")
    essays = ordered.table().pivot("item", index=["student", "rater"], values="score")
    essays = essays.with_columns(number // 6).select(
        ("c" + pl.col("student").cast(pl.String)).alias("class"),
        (pl.int_range(pl.len()).over("student") // 4).alias("seat"),
        pl.col("rater").alias("judge"),
        (pl.int_range(pl.len()) // 20 % 2).alias("topic"),
        pl.col(essays.columns[2]).alias("style"),
        pl.col(essays.columns[3]).alias("plot, ending"),
    )
    essays.write_csv(folder / "one row per essay.csv")
    first = binary.table().filter(pl.col("item") == binary.items[0])
    first.pivot("rater", index="student", values="score").write_parquet(
        folder / "one column per rater.parquet"
    )
    for name in ("study.txt", "held.txt"):
        rl.write_facets(ordered, folder / name)
    anchored(folder / "held.txt", "Items", dict(zip(ordered.items, (-0.3, 0.3), strict=True)))
    rl.fit(binary, model="gmf").save(folder / "earlier fit.json")
    known = pl.DataFrame({"rater": binary.raters, "years": [1, 4, 2, 8]})
    known.write_csv(folder / "known.csv")
    return folder


def drawn(random: Random) -> list[str]:
    """A command line as somebody might type it; some are refused."""
    file = random.choice(list(FILES))
    words = ["fit", file, *random.choice(FILES[file]), "--out", "results", "--quiet"]
    for option in random.sample(list(OPTIONS), k=random.randint(0, 3)):
        words += [option, random.choice(OPTIONS[option])]
    return words + random.sample(SWITCHES, k=random.choice([0, 0, 1]))


def printed(report: Path) -> tuple[str, str]:
    command, call = re.findall(r"<pre[^>]*>(.*?)</pre>", report.read_text(encoding="utf-8"), re.DOTALL)[:2]
    return html.unescape(command), html.unescape(call)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("combinations", [2, pytest.param(COMBINATIONS, marks=pytest.mark.nightly)])
def test_the_command_and_the_call_in_a_report_give_the_same_raters(
    combinations: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    random, tried, seen = Random(20241116), 0, set()
    while tried < combinations:
        words = drawn(random)
        shutil.rmtree("results", ignore_errors=True)
        code = main(words)
        if code == AT_FAULT:  # these options do not go together
            assert not Path("results").exists()
            continue
        assert code == DONE, (words, capsys.readouterr().err)
        tried += 1
        seen |= {word for word in words if word.startswith("--") or word in FILES}
        expected = Path("results", "raters.csv").read_bytes()
        command, call = printed(Path("results", "report.html"))
        shutil.rmtree("results")
        assert main([*shlex.split(command)[1:], "--quiet"]) == DONE, command
        assert Path("results", "raters.csv").read_bytes() == expected, (words, command)
        assert re.findall(r"\bimport\b.*", call) == ["import raterlens as rl"], call
        names: dict[str, Any] = {}
        exec(call, names)  # what a reader would paste
        estimates = (
            names["fit"].table("raters").columns
        )  # the file also has verdicts, which look at the ratings
        harmless(names["fit"].table("raters")).write_csv("again.csv")
        again, whole = (pl.read_csv(file, infer_schema=False) for file in ("again.csv", expected))
        assert again.equals(whole.select(estimates)), (words, call)
        names["fit"].save("again.json")
        assert Path("again.json").read_bytes() == Path("results", "fit.json").read_bytes(), (words, call)
    assert len(seen & set(FILES)) >= min(3, combinations - 1)


def test_the_call_with_columns_for_diagnostics_uses_the_public_names_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    shutil.rmtree("results", ignore_errors=True)
    words = ["fit", "long.csv", "--score", "mark", "--model", "tfm", "--time", "day", "--groups", "topic"]
    assert main([*words, "--decide", "0.5", "--out", "results", "--quiet"]) == DONE
    _, call = printed(Path("results", "report.html"))
    assert re.findall(r"\bimport\b.*|\braterlens\S*", call) == ["import raterlens as rl"]
    names: dict[str, Any] = {}
    exec(call, names)
    names["fit"].save("again.json")
    assert Path("again.json").read_bytes() == Path("results", "fit.json").read_bytes()
    assert {"change", "bias topic"} <= set(names["diagnosis"].tables)
    assert names["decisions"].table.height == names["fit"].students.height
