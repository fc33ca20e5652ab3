"""The same ratings in any form give the same results: shuffled, packed, and by the printed command."""

import html
import json
import os
import re
import shlex
import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import raterlens as rl
from raterlens.app.cli.main import AT_FAULT, DONE, main
from raterlens.fitting.run import sample_for_diagnostics
from raterlens.output.folder import harmless
from raterlens.ratings.packed import StoredRatings, open_packed
from tests.support.command_line import run
from tests.support.facets_files import anchored
from tests.support.packed_tables import table
from tests.support.reading_files import FILES
from tests.support.shared_panels import panel

# --- the same ratings told in another way give the same digits; a change whose effect is known has that effect


# No other program is needed to know what must come out: names, order, files and threads mean nothing, mirrored scores
# mirror severity, and a panel seen twice is known √2 times as well.


# Two runs of the same optimiser over sums in another order.
CLOSE, LOGLIK = 1e-3, 1e-6
EXACT = ["csv", "csv.gz", "jsonl", "json", "xlsx", "sav", "dta", "rds", "sqlite", "duckdb", "parquet folder"]

FEW = settings(
    max_examples=3,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
panels = st.builds(
    lambda seed, students, thresholds: rl.simulate(
        students=students, raters=4, items=2, raters_per_student=3, thresholds=thresholds, seed=seed
    ).ratings.table(),
    st.integers(0, 1000),
    st.integers(80, 120),
    st.sampled_from([None, None, [-0.7, 0.7]]),
)
models = st.sampled_from([{}, {"model": "tfm"}, {"link": "probit"}, {"covariance": "sandwich"}])


def raters(fit: rl.Fit) -> pl.DataFrame:
    return fit.raters.select("rater", "kappa", "eta", "kappa_se").sort("rater")


def assert_same(one: rl.Fit, other: rl.Fit) -> None:
    assert one.loglik == pytest.approx(other.loglik, rel=LOGLIK)
    for name in ("kappa", "eta", "kappa_se"):
        np.testing.assert_allclose(
            raters(one)[name], raters(other)[name], rtol=CLOSE, atol=CLOSE, err_msg=name
        )


@FEW
@given(panels, models, st.randoms(use_true_random=False))
def test_names_and_order_mean_nothing(table, model, random):
    order = list(range(len(table)))
    random.shuffle(order)
    other = table[order].with_columns(
        student=pl.col("student").str.reverse() + "z", rater="q" + pl.col("rater"), item="x" + pl.col("item")
    )
    assert_same(rl.fit(table, **{"model": "gmf"} | model), rl.fit(other, **{"model": "gmf"} | model))


@FEW
@given(panels, models)
def test_a_panel_seen_twice_is_known_better_by_the_root_of_two(table, model):
    twice = pl.concat([table, table.with_columns(student="again " + pl.col("student"))])
    one, two = rl.fit(table, **{"model": "gmf"} | model), rl.fit(twice, **{"model": "gmf"} | model)
    assert two.loglik == pytest.approx(2 * one.loglik, rel=LOGLIK)
    for name, factor in (("kappa", 1), ("eta", 1), ("kappa_se", np.sqrt(2))):
        np.testing.assert_allclose(factor * raters(two)[name], raters(one)[name], rtol=CLOSE, atol=CLOSE)


@FEW
@given(panels, models)
def test_mirrored_scores_mirror_severity(table, model):
    mirrored = table.with_columns(score=pl.col("score").max() - pl.col("score"))
    one, other = (
        rl.fit(table, allow_reversed=True, **{"model": "gmf"} | model),
        rl.fit(mirrored, allow_reversed=True, **{"model": "gmf"} | model),
    )
    assert other.loglik == pytest.approx(one.loglik, rel=LOGLIK)
    np.testing.assert_allclose(raters(other)["kappa"], raters(one)["kappa"], rtol=CLOSE, atol=CLOSE)
    np.testing.assert_allclose(raters(other)["eta"], -raters(one)["eta"], rtol=CLOSE, atol=CLOSE)


@FEW
@given(panels)
def test_a_student_whom_only_a_stranger_saw_changes_nobody(table):
    stranger = table.head(1).with_columns(student=pl.lit("new"), rater=pl.lit("zz stranger"))
    one, other = rl.fit(table, model="gmf"), rl.fit(pl.concat([table, stranger]), model="gmf")
    known = raters(other).filter(pl.col("rater") != "zz stranger")
    np.testing.assert_allclose(known["kappa"], raters(one)["kappa"], rtol=1e-3, atol=1e-3)


@FEW
@given(panels, st.sampled_from(EXACT))
def test_every_file_gives_the_same_digits(tmp_path_factory, table, kind):
    folder: Path = tmp_path_factory.mktemp("files")
    expected = rl.fit(table, model="gmf")
    found = rl.fit(FILES[kind](table, folder), model="gmf")
    assert found.loglik == expected.loglik
    assert raters(found).equals(raters(expected))


@FEW
@given(panels)
def test_every_dataframe_gives_the_same_digits(table):
    expected = rl.fit(table, model="gmf")
    for backend in (table.to_pandas(), table.to_arrow(), table.lazy()):
        found = rl.fit(backend, model="gmf")
        assert found.loglik == expected.loglik
        kappa = found.raters["kappa"]
        assert list(kappa.to_numpy()) == list(expected.raters["kappa"].to_numpy())


def test_one_thread_and_two_give_the_same_digits(monkeypatch):
    table = rl.simulate(students=400, raters=6, items=2, raters_per_student=3, seed=3).ratings
    monkeypatch.setattr("raterlens.likelihood.marginal.large_fit", lambda counts: True)
    found = []
    for cores in (1, 2):
        for module in ("likelihood.engines.compiled", "base.threads"):
            monkeypatch.setattr(f"raterlens.{module}.available_cores", lambda cores=cores: cores)
        found.append(rl.fit(table, model="gmf"))
    one, two = found
    assert one.loglik == pytest.approx(two.loglik, rel=1e-13)
    np.testing.assert_allclose(raters(one)["kappa"], raters(two)["kappa"], rtol=1e-9)


labels = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=4
)


@settings(FEW, max_examples=15)
@given(
    st.lists(labels, min_size=2, max_size=5, unique=True),
    st.lists(labels, min_size=2, max_size=3, unique=True),
    st.sampled_from(["csv", "jsonl", "json", "xlsx", "sqlite", "parquet folder", "sav"]),
    st.integers(0, 99),
)
def test_labels_of_any_text_survive_every_file(tmp_path_factory, students, names, kind, seed):
    random = np.random.default_rng(seed)
    rows = [("s" + s, "r" + r, int(random.integers(0, 2))) for s in students for r in names]
    rows[0], rows[-1] = (*rows[0][:2], 0), (*rows[-1][:2], 1)
    table = pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row")
    found = rl.read(FILES[kind](table, tmp_path_factory.mktemp("labels"))).table()
    assert (
        found.select("student", "rater", "score").rows()
        == rl.read(table).table().select("student", "rater", "score").rows()
    )


# --------------------------------- packed files and known answers, from a table to results by commands


# --------------------------------------------------- from a table to a packed file to results, by commands


def test_the_command_and_a_fit_of_what_it_wrote(tmp_path, capsys):
    table(students=200).write_csv(tmp_path / "table.csv")
    path = tmp_path / "x.rlpack"
    assert main(["pack", str(tmp_path / "table.csv"), "--out", str(path), "--cut", "2"]) == 0
    assert "students by 7 raters on 3 items" in capsys.readouterr().out
    one, other = rl.fit(rl.read(tmp_path / "table.csv", cut=2), model="gmf"), rl.fit(path, model="gmf")
    assert other.loglik == pytest.approx(one.loglik, rel=1e-12)
    np.testing.assert_allclose(other.raters["kappa"], one.raters["kappa"], rtol=1e-9)
    np.testing.assert_allclose(other.raters["kappa_se"], one.raters["kappa_se"], rtol=1e-9)
    np.testing.assert_allclose(other.students["theta"], one.students["theta"], rtol=1e-9, atol=1e-12)


def test_a_damaged_file_is_one_message(tmp_path, capsys):
    path = rl.pack(table(), tmp_path / "x.rlpack")
    path.write_bytes(path.read_bytes()[:-100])
    assert main(["check", str(path)]) == 2
    assert "it is cut short or damaged" in capsys.readouterr().err


def test_diagnostics_of_very_many_ratings_look_at_some_students(tmp_path):
    frame = table(students=200)
    path = rl.pack(frame, tmp_path / "x.rlpack", cut=2, facets=["when"])
    on_disk = StoredRatings(open_packed(path), part=1000)
    when = on_disk.facets[0].labels.gather(on_disk.facets[0].codes)
    some, aside, (said,) = sample_for_diagnostics(on_disk, {"groups": {"when": when}}, most=100, sample=1000)
    assert f"diagnostics use {some.n_ratings:,} of {on_disk.n_ratings:,} ratings" in said
    assert 500 < some.n_ratings < 1500
    # The column beside the ratings is that of the same ratings.
    assert aside["groups"]["when"].to_list() == some.table()["when"].to_list()
    assert sample_for_diagnostics(on_disk, {}) == (on_disk, {}, ())


# --- a panel that shares a bias, from the file to the report: every part of a fit works with the second dimension


@pytest.fixture(scope="module")
def made():
    return panel(students=150, raters=6, known=60, bias=2.5, seed=7)


@pytest.mark.nightly
def test_the_command_finds_the_bias_and_writes_it_down(made, tmp_path) -> None:
    made.table.write_csv(tmp_path / "verdicts.csv")
    done = run(
        "fit", tmp_path / "verdicts.csv", "--known", "gold", "--trusted", "r05", "--out", tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    assert b"Raters agree on something besides the truth" in b" ".join((done.stdout + done.stderr).split())
    saved = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert saved["config"]["trusted"] == ["r05"]
    assert "bias" in (tmp_path / "out" / "raters.csv").read_text().splitlines()[0].split(",")
    assert "--known gold" in (tmp_path / "out" / "report.html").read_text()


def test_everything_that_can_be_asked_of_a_fit(made) -> None:
    ratings = made.ratings
    fit = rl.fit(ratings, model="gmf", trusted=["r05"], shared=True)
    assert fit.diagnose(ratings).table("raters")["infit"].is_between(0.8, 1.25).all()
    assert fit.differences(ratings).words()
    assert fit.consequences(ratings).students == 150
    others = fit.sensitivity(ratings, links=(), models=("tfm",))
    assert others.height > 0
    alone = fit.refit(ratings.subset(ratings.rater != 5), shared=False)
    assert alone.config.trusted is None
    assert fit.bootstrap(ratings, replicates=2, workers=1).raters()["se"].is_finite().all()


# --- how to reproduce, tried: the command and the Python call that a report prints give the same raters, byte for byt


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
REPRODUCED: dict[str, list[list[str]]] = {
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
    file = random.choice(list(REPRODUCED))
    words = ["fit", file, *random.choice(REPRODUCED[file]), "--out", "results", "--quiet"]
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
        seen |= {word for word in words if word.startswith("--") or word in REPRODUCED}
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
    assert len(seen & set(REPRODUCED)) >= min(3, combinations - 1)


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
