"""`raterlens plot`: a chart of a saved fit, or a message that says what would do."""

from types import SimpleNamespace

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.pictures.chart_names import CHARTS

PARTS = 3


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table with days, a fit of it, and one of a latent class model."""
    folder = tmp_path_factory.mktemp("plot")
    ratings = rl.simulate(students=60, raters=4, items=2, seed=1).ratings
    names = {"student": ratings.students, "rater": ratings.raters, "item": ratings.items}
    columns = {name: labels.gather(getattr(ratings, name)) for name, labels in names.items()}
    day = [f"day {place % PARTS + 1}" for place in range(ratings.n_ratings)]
    pl.DataFrame({**columns, "score": ratings.score, "day": day}).write_csv(folder / "ratings.csv")
    fit = rl.fit(ratings)
    fit.save(folder / "fit.json")
    rl.fit(ratings, model="hrm").save(folder / "hrm.json")
    return SimpleNamespace(
        ratings=str(folder / "ratings.csv"),
        fit=str(folder / "fit.json"),
        hrm=str(folder / "hrm.json"),
        rater=fit.raters["rater"][0],
    )


def arguments(name, files):
    needs = CHARTS[name]
    return [
        name,
        *([files.fit] if needs.fit else []),
        *(["--ratings", files.ratings] if needs.ratings else []),
        *(["--time", "day"] if needs.time else []),
        *(["--show", files.rater] if needs.fewest else []),
    ]


def test_every_chart_has_a_command():
    assert set(CHARTS) == set(rl.charts.__all__) - {"save", "svg"}


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_written(name, files, tmp_path, capsys):
    out = tmp_path / "x.svg"
    assert (
        main(["plot", *arguments(name, files), "--out", str(out), "--theme", "dark", "--width", "380"]) == 0
    )
    assert capsys.readouterr().out.strip() == str(out)
    assert b"#15181c" in out.read_bytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["capabilty", "FIT"], "unknown chart 'capabilty'; did you mean 'capability'?"),
        (["capability"], "the chart 'capability' needs FIT: the path of a fit.json"),
        (["network"], "the chart 'network' needs --ratings: the table of ratings"),
        (["drift", "FIT", "--ratings", "RATINGS"], "the chart 'drift' needs --time: the column"),
        (["what_if", "FIT"], "--show names 0 raters, and the chart 'what_if' shows one rater"),
        (["what_if", "FIT", "--show", "nobody"], "no rater 'nobody' in this fit; give one of: 'R1', 'R2'"),
        (["severity", "FIT", "--show", "R1"], "the chart 'severity' shows all raters; leave out --show"),
        (["wright", "FIT", "--ratings", "RATINGS"], "the chart 'wright' takes no --ratings; leave it out"),
        (["capability", "FIT", "--theme", "sepia"], "unknown theme 'sepia'; choose one of: light, dark"),
        (["capability", "FIT", "--width", "20"], "width is 20; give pixels from 280"),
        (["capability", "nowhere.json"], "no such file: 'nowhere.json'"),
        (["curves", "HRM"], "the chart 'curves' has no meaning for model 'hrm'"),
        (["drift", "FIT", "--ratings", "RATINGS", "--time", "month"], "month"),
        (
            ["drift", "FIT", "--ratings", "RATINGS", "--time", "day", "--value", "kindness"],
            "unknown value 'kindness'; choose one of: severity, discrimination, capability",
        ),
        (
            ["capability", "FIT", "--value", "severity"],
            "the chart 'capability' takes no --value; leave it out",
        ),
    ],
)
def test_a_mistake_is_answered_by_what_would_do(given, message, files, tmp_path, capsys):
    places = {"FIT": files.fit, "HRM": files.hrm, "RATINGS": files.ratings}
    out = tmp_path / "x.svg"
    assert main(["plot", *(places.get(word, word) for word in given), "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_drift_of_another_value(files, tmp_path):
    out = tmp_path / "x.svg"
    given = [*arguments("drift", files), "--value", "discrimination", "--out", str(out)]
    assert main(["plot", *given]) == 0
    assert "Discrimination" in out.read_text()


def test_a_file_of_another_kind_is_refused(files, tmp_path, capsys):
    assert main(["plot", "capability", files.fit, "--out", str(tmp_path / "x.jpg")]) == 2
    assert "use one of the endings .svg, .png, .pdf, .html" in capsys.readouterr().err


def test_help_lists_the_charts(capsys):
    assert main(["plot", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in CHARTS)


def test_a_full_disk_leaves_nothing(files, tmp_path, capsys):
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (1000, hard)
    )  # bytes per file: the same error path as a full disk
    try:
        assert main(["plot", "capability", files.fit, "--out", str(tmp_path / "x.svg")]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "x.svg': File too large; give a file" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
