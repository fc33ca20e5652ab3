"""Control files in every form that the manual describes, written anew: the ratings and estimates of the long table."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli import main
from raterlens.reading import read
from raterlens.reading.long_table import long_table

HEAD = """; An invented study.
Title = Essays of a summer school
Facets = 3                ; pupils, readers, criteria
Inter-rater = 2
Positive = 1
Non-centered = 1
Arrange = m, 2N
"""
LABELS = """Labels =
1, Pupils
1 = Ida
2 = Jo
3 = Kai
*
2, Readers
1 = Ann
2 = Bob
*
3, Criteria
1 = style
2 = plot
3 = grammar
*
"""
MODEL = "Models = ?,?,?,R3\n"
DATA = """Data =
1,1,1-3,2,3,1
2,1,1-3,0,1,2
3,2,1-3,3,3,0
1,2,2,1
"""
ROWS = [
    *[("Ida", "Ann", c, s) for c, s in zip(("style", "plot", "grammar"), (2, 3, 1), strict=True)],
    *[("Jo", "Ann", c, s) for c, s in zip(("style", "plot", "grammar"), (0, 1, 2), strict=True)],
    *[("Kai", "Bob", c, s) for c, s in zip(("style", "plot", "grammar"), (3, 3, 0), strict=True)],
    ("Ida", "Bob", "plot", 1),
]


def rows(ratings: rl.Ratings) -> list[tuple[str, str, str, int]]:
    return sorted(long_table(ratings).select("student", "rater", "item", "score").rows())


def write(folder: Path, text: str, name: str = "study.txt") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_whole_file(tmp_path: Path) -> None:
    ratings = read(write(tmp_path, HEAD + MODEL + LABELS + DATA))
    assert rows(ratings) == sorted(ROWS)
    assert "FACETS control file 'Essays of a summer school'" in ratings.notes
    assert "rater: 'Readers' (told by the file; choose another with rater=)" in ratings.notes
    assert any("Arrange (line 7)" in note for note in ratings.notes)


# The same ratings, written in other ways.
FORMS = {
    "models as a list": HEAD + "Models =\n?,?,?,R3 ; any\n*\n" + LABELS + DATA,
    "models after labels": HEAD + LABELS + MODEL + DATA,
    "model and star": HEAD + MODEL + "*\n" + LABELS + DATA,
    "bias terms": HEAD + "Models = ?B,?B,?,R3\n" + LABELS + DATA,
    "plain R": HEAD + "Models = ?,?,?,R\n" + LABELS + DATA,
    "kept categories": HEAD + "Models = ?,?,?,R3K\n" + LABELS + DATA,
    "short names": HEAD.replace("Title", "T").replace("Facets", "FACETS")
    + "m = ?,?,?,R3\n"
    + LABELS
    + DATA.replace("Data", "D"),
    "a named scale": HEAD
    + "Models = ?,?,?,Mark\nRating (or partial credit) scale = Mark,R3,G,O\n0=weak\n1=fair\n2=good\n3=fine\n*\n"
    + LABELS
    + DATA,
    "blanks": HEAD + MODEL + LABELS + DATA.replace("Data =", "Data=").replace(",", "  "),
    "tabs": HEAD + MODEL + LABELS + DATA.replace(",", "\t"),
    "underscore": HEAD + MODEL + LABELS + DATA.replace("1-3", "1_3"),
    "one rating a line": HEAD
    + MODEL
    + LABELS
    + "Data=\n"
    + "".join(
        f"{['Ida', 'Jo', 'Kai'].index(s) + 1},{['Ann', 'Bob'].index(r) + 1},"
        f"{['style', 'plot', 'grammar'].index(i) + 1},{y}\n"
        for s, r, i, y in ROWS
    ),
    "another order": HEAD
    + "Entered in data = 3,1,2\n"
    + MODEL
    + LABELS
    + "Data=\n1-3,1,1,2,3,1\n1-3,2,1,0,1,2\n1-3,3,2,3,3,0\n2,1,2,1\n",
    "labels in the data": HEAD
    + MODEL
    + LABELS
    + "Delements = LN\nData=\nIda,Ann,1-3,2,3,1\njo,Ann,1-3,0,1,2\n3,Bob,1-3,3,3,0\nIda,Bob,plot,1\n",
    "missing codes": HEAD + "Missing = 8, x\n" + MODEL + LABELS + DATA + "2,2,1-3,8,x,.\n3,1,1-3,,,\n",
    "beyond the scale": HEAD + MODEL + LABELS + DATA + "2,2,1-3,9,4,n\n",
    "fewer scores than the range": HEAD + MODEL + LABELS + DATA.replace("1,2,2,1", "1,2,2-3,1"),
    "unknown elements": HEAD + MODEL + LABELS + DATA + "7,1,1,2\n",
    "comments": HEAD + MODEL + LABELS + DATA.replace("\n1,2,2,1", " ; note\n; 3,3,3,3\n\n1,2,2,1;end"),
    "another model's ratings": HEAD
    + "Models=\n?,?,1-3,R3\n*\n"
    + LABELS.replace("3 = grammar", "3 = grammar\n4 = effort")
    + DATA
    + "2,2,4,2\n",
    "model M": HEAD + "Models=\n3,1,?,M\n?,?,?,R3\n*\n" + LABELS + DATA + "3,1,1-3,0,0,0\n",
    "several models of one kind": HEAD + "Models=\n?,?,1,R3\n?,?,?,R3\n*\n" + LABELS + DATA,
    "starting values": HEAD
    + MODEL
    + LABELS.replace("1 = Ann", "1 = Ann, 0.5, 2").replace("2 = Bob", "2 = Bob, -.5")
    + DATA,
    "windows lines": (HEAD + MODEL + LABELS + DATA).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_same_ratings(form: str, tmp_path: Path) -> None:
    assert rows(read(write(tmp_path, FORMS[form]))) == sorted(ROWS)


def test_repeated_and_the_same_on_every_line(tmp_path: Path) -> None:
    text = HEAD + "Dvalues = 3, 1-3\n" + MODEL + LABELS + "Data=\n1,1,2,3,1\nR2,2,1,0,1,2\n3,2,3,3,0\n"
    jo = [row for row in ROWS if row[0] == "Jo"]
    assert rows(read(write(tmp_path, text))) == sorted([*ROWS[:-1], *jo])


def test_data_beside_it(tmp_path: Path) -> None:
    body = DATA.partition("\n")[2]
    first, second = body.splitlines(keepends=True)[:2], body.splitlines(keepends=True)[2:]
    write(tmp_path, "".join(first), "one.txt")
    write(tmp_path, "".join(second), "two.csv")
    for where in ("Data = one.txt + two.csv\n", "Data =\n%one.txt\n%two.csv\n"):
        assert rows(read(write(tmp_path, HEAD + MODEL + LABELS + where))) == sorted(ROWS)
    write(tmp_path, "1,1,1-3,2,z\nbroken\n", "one.txt")
    with pytest.raises(
        rl.RaterlensError, match=r"'one\.txt', line 2: 1 field where 3 elements and a score are due"
    ):
        read(write(tmp_path, HEAD + MODEL + LABELS + "Data = one.txt\n"))


def test_a_cut_of_the_file(tmp_path: Path) -> None:
    ratings = read(write(tmp_path, HEAD + "Models = ?,?,?,D2\n" + LABELS + DATA))
    assert rows(ratings) == sorted((s, r, i, int(y >= 2)) for s, r, i, y in ROWS)


def test_dichotomies_and_two_facets(tmp_path: Path) -> None:
    text = (
        "Facets=2\nModel=?,?,D\nLabels=\n1,Children\n1-3\n*\n2,Tasks shown\n1-2=task\n*\n"
        "Data=\n1,1-2,1,0\n2,1-2,0,0\n3,1-2,1,2\n"
    )
    ratings = read(write(tmp_path, text))
    assert rows(ratings) == [
        ("1", "task 1", "all", 1),
        ("1", "task 2", "all", 0),
        ("2", "task 1", "all", 0),
        ("2", "task 2", "all", 0),
        ("3", "task 1", "all", 1),
    ]


FOUR = (
    "Facets=4\nPositive=1\nModels=?,?,?,?,R3\nLabels=\n1,Examinees\n1-3\n*\n2,Judges\n1-2\n*\n3,Topics\n1=home\n2=work\n*\n"
    "4,Criteria\n1=style\n2=plot\n*\nData=\n1,1,1,1-2,2,3\n2,1,2,1-2,0,1\n3,2,1,1-2,3,0\n1,2,2,2,1\n"
)


def test_a_fourth_facet_is_estimated_too(tmp_path: Path) -> None:
    ratings = read(write(tmp_path, FOUR))
    assert [facet.name for facet in ratings.facets] == ["Topics"]
    assert ratings.items.to_list() == ["plot", "style"]
    assert ratings.raters.to_list() == ["1", "2"]
    other = read(write(tmp_path, FOUR), item="Topics")
    assert other.items.to_list() == ["home", "work"]
    assert other.facets == ()
    combined = read(write(tmp_path, FOUR), rater=["Judges", "Topics"], item="Criteria")
    assert combined.raters.to_list() == ["1:home", "1:work", "2:home", "2:work"]


def test_dummy_facets_and_those_left_out_of_models(tmp_path: Path) -> None:
    for text in (FOUR.replace("3,Topics", "3,Topics,D"), FOUR.replace("?,?,?,?,R3", "?,?,X,?,R3")):
        assert read(write(tmp_path, text)).facets == ()


# What is not supported, by line


REFUSED = {
    "binomial": (MODEL, "Models = ?,?,?,B5\n", 8, "binomial trials (B5) are not supported"),
    "poisson": (MODEL, "Models = ?,?,?,P\n", 8, "Poisson counts (P) are not supported"),
    "model weight": (MODEL, "Models = ?,?,?,R3,0.5\n", 8, "weight 0.5"),
    "reversed": (MODEL, "Models = ?,-?,?,R3\n", 8, "turned round"),
    "no scale": (MODEL, "Models = ?,?,?,Q3\n", 8, "'Q3' is no scale"),
    "facets of the model": (MODEL, "Models = ?,?,R3\n", 8, "2 facets where the data have 3"),
    "mixed": (MODEL, "Models=\n?,?,1,R5\n?,?,?,R3\n*\n", 10, "scores up to 3 beside those up to 5"),
    "group anchors": ("2, Readers", "2, Readers, G", 15, "group-anchored"),
    "element weight": ("1 = Ann", "1 = Ann,,,2", 16, "weights and merged elements"),
    "measure": ("1 = Ann", "1 = Ann, high", 16, "'high' is not a number"),
    "facet number": ("3, Criteria", "4, Criteria", 19, "facet 4 where Facets = 3"),
    "fractional weight": ("1,2,2,1", "R0.5,1,2,2,1", 28, "the weight 0.5 is not supported"),
    "null element": ("1,2,2,1", "1,0,2,1", 28, "facet 2 takes no part (element 0)"),
    "too many scores": ("1,2,2,1", "1,2,2,1,3", 28, "2 scores where the elements call for 1"),
    "two ranges": ("1,2,2,1", "1-2,1-2,2,1,3", 28, "both have a range"),
    "no element": ("1,2,2,1", "1,Bob,2,1", 28, "'Bob' is no element of facet 2 (Readers)"),
    "short line": ("1,2,2,1", "1,2,2", 28, "3 fields where 3 elements and a score are due"),
    "paired": ("Arrange = m, 2N", "Entered = 1,1,2", 7, "paired comparisons"),
    "recoded": (MODEL, "Models=?,?,?,S\nRating scale=S,R3\n0=no,,,x\n*\n", 10, "scores are recoded (x)"),
    "prose": ("Arrange = m, 2N", "Here we go", 7, "'Here we go' is no specification"),
    "no file": ("Data =\n", "Data = gone.txt\n", 24, "no file 'gone.txt'"),
    "a workbook": ("Data =\n", "Data = marks.xlsx\n", 24, "'marks.xlsx' are not supported"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_supported_is_named_with_its_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    old, new, line, what = REFUSED[case]
    whole = HEAD + MODEL + LABELS + DATA
    assert old in whole
    assert main(["check", str(write(tmp_path, whole.replace(old, new)))]) == 2
    message = capsys.readouterr().err
    assert f"'study.txt', line {line}: " in message
    assert what in message
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (HEAD + LABELS + DATA, "has no Models="),
        (HEAD + MODEL + LABELS, "has no data"),
        (HEAD + MODEL + LABELS + "Data=\n9,9,9,1\n", "no rating that fits"),
        (
            (HEAD + MODEL + LABELS + DATA)
            .replace("Inter-rater = 2", "")
            .replace("Readers", "Staff")
            .replace("Criteria", "Points of view"),
            "no rater column recognised",
        ),
    ],
)
def test_whole_files_that_say_too_little(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(rl.RaterlensError, match=what):
        read(write(tmp_path, text))


def test_an_ordinary_text_table_is_no_control_file(tmp_path: Path) -> None:
    path = write(tmp_path, "student\trater\tscore\n1\ta\t0\n2\tb\t1\n")
    assert read(path).n_ratings == 2


# Estimates


@pytest.fixture(scope="module")
def panel() -> rl.Ratings:
    """Three facets and scores from 0 to 2."""
    return rl.simulate(
        students=60, raters=5, items=3, raters_per_student=3, thresholds=[-0.8, 0.8], seed=3
    ).ratings


def test_estimates_agree_with_the_long_table(panel: rl.Ratings, tmp_path: Path) -> None:
    long_table(panel).write_csv(tmp_path / "long.csv")
    rl.write_facets(panel, tmp_path / "study.txt")
    long = rl.fit(read(tmp_path / "long.csv"), "tfm", standard_errors=False)
    control = rl.fit(read(tmp_path / "study.txt"), "tfm", standard_errors=False)
    assert control.loglik == long.loglik
    for name in ("raters", "items", "students"):
        assert control.table(name).equals(long.table(name))


def test_partial_credit(panel: rl.Ratings, tmp_path: Path) -> None:
    rl.write_facets(panel, tmp_path / "study.txt", scale="partial credit")
    study = rl.read_facets(tmp_path / "study.txt")
    assert study.scale == "partial credit"
    text = (tmp_path / "study.txt").read_text()
    assert "Models = ?,?,#,R2" in text
    write(tmp_path, text.replace("?,?,#,R2", "?,#,?,R2"))
    with pytest.raises(
        rl.RaterlensError, match=r"line 6: each element of facet 2 \(Raters\) has its own thresholds"
    ):
        rl.read_facets(tmp_path / "study.txt")


def test_labels_that_hold_separators_stay_apart(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"student": ["a,1", "a;1", "b"], "rater": ['Ann "A"', "Bob=", "Bob="], "score": [0, 1, 1]}
    )
    rl.write_facets(read(frame), tmp_path / "study.txt")
    again = read(tmp_path / "study.txt")
    assert again.students.to_list() == ["a 1 (1)", "a 1 (2)", "b"]
    assert again.score.tolist() == [0, 1, 1]


ANCHORS = {"R1": 0.6, "R2": -0.4, "R3": 0.1, "R4": -0.9, "R5": 0.6}


def anchored(path: Path, facet: str, measures: dict[str, float]) -> None:
    """Mark a facet as anchored and give its elements their measures."""
    lines, inside = [], False
    for line in path.read_text().splitlines():
        if line.endswith(f", {facet}"):
            line, inside = f"{line}, A", True
        elif line == "*":
            inside = False
        elif inside:
            line += f", {measures[line.split(' = ')[1]]}"
        lines.append(line)
    path.write_text("\n".join(lines))


@pytest.mark.parametrize("positive", [False, True])
def test_anchored_raters(panel: rl.Ratings, positive: bool, tmp_path: Path) -> None:
    path = tmp_path / "study.txt"
    rl.write_facets(panel, path)
    anchored(path, "Raters", {k: -v for k, v in ANCHORS.items()} if positive else ANCHORS)
    if positive:
        path.write_text(path.read_text().replace("Positive = 1", "Positive = 1,2"))
    study = rl.read_facets(path)
    assert study.severities == ANCHORS
    assert "held at the anchors of the control file: 5 raters" in study.ratings.notes
    fit = rl.fit(study.ratings, "tfm", anchors=study.anchors("tfm"), standard_errors=False)
    held = rl.Anchors(raters={k: (None, v) for k, v in ANCHORS.items()})
    by_hand = rl.fit(panel, "tfm", anchors=held, standard_errors=False)
    assert fit.loglik == by_hand.loglik
    found = dict(zip(fit.raters["rater"], fit.raters["eta"] - fit.alpha, strict=True))
    assert found == pytest.approx(ANCHORS, abs=1e-9)


def test_anchored_raters_and_items_leave_the_students_free(tmp_path: Path) -> None:
    """As in FACETS: with everything else held, the students' mean and spread are found; here 0.7 and 1.5."""
    rng = np.random.default_rng(8)
    severity, difficulty = np.array([0.6, -0.4, 0.1, -0.9, 0.6]), np.array([-0.5, 0.2, 0.8])
    ability = rng.normal(0.7, 1.5, 600)
    s = ability[:, None, None] - severity[None, :, None] - difficulty[None, None, :]
    y = rng.random(s.shape) < 1 / (1 + np.exp(-s))
    student, rater, item = np.indices(s.shape)
    frame = pl.DataFrame(
        {
            "student": student.ravel(),
            "rater": [f"R{r + 1}" for r in rater.ravel()],
            "item": [f"I{i + 1}" for i in item.ravel()],
            "score": y.ravel().astype(int),
        }
    )
    path = tmp_path / "study.txt"
    rl.write_facets(read(frame), path)
    anchored(path, "Raters", ANCHORS)
    anchored(path, "Items", {"I1": -0.5, "I2": 0.2, "I3": 0.8})
    study = rl.read_facets(path)
    fit = rl.fit(study.ratings, "tfm", anchors=study.anchors("tfm"), standard_errors=False)
    population = fit.table("population").row(0, named=True)
    assert population["mean"] == pytest.approx(0.7, abs=0.15)
    assert population["sd"] == pytest.approx(1.5, abs=0.12)
    with pytest.raises(rl.RaterlensError, match="use model 'tfm'"):
        study.anchors("gmf")


def test_anchored_thresholds(panel: rl.Ratings, tmp_path: Path) -> None:
    path = tmp_path / "study.txt"
    rl.write_facets(panel, path)
    scale = "Models = ?,?,?,Mark\nRating scale = Mark,R2\n0=low,0,A\n1=mid,-1.1,A\n2=top,1.1,A\n*"
    path.write_text(path.read_text().replace("Models = ?,?,?,R2", scale))
    study = rl.read_facets(path)
    assert study.thresholds == (-1.1, 1.1)
    fit = rl.fit(study.ratings, "tfm", anchors=study.anchors("tfm"), standard_errors=False)
    assert fit.table("thresholds")["threshold"].to_list() == pytest.approx([-1.1, 1.1])


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("1, Students", "1, Students, A"), "students are anchored"),
        (("Positive = 1", "Positive = 1\nUmean = 50,10"), "other units than logits"),
    ],
)
def test_anchors_that_cannot_be_held(
    panel: rl.Ratings, change: tuple[str, str], what: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.txt"
    rl.write_facets(panel, path)
    anchored(path, "Raters", ANCHORS)
    text = path.read_text().replace(*change)
    path.write_text(text.replace("1 = S01", "1 = S01, 0.3"))
    with pytest.raises(rl.RaterlensError, match=what):
        rl.read_facets(path)


# The command line


def test_fit_uses_anchors_and_prints_tables(
    panel: rl.Ratings, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    path = tmp_path / "study.txt"
    rl.write_facets(panel, path)
    anchored(path, "Items", {"I1": -0.5, "I2": 0.2, "I3": 0.8})
    assert main(["fit", str(path), "--model", "tfm", "--facets-tables"]) == 0
    shown = capsys.readouterr().out
    items = shown[shown.index("Table 7.3.1") :].splitlines()[3:6]
    assert {line.split()[10]: float(line.split()[4]) for line in items} == {"I1": -0.5, "I2": 0.2, "I3": 0.8}


def test_tables_are_on_the_scale_of_the_predictor(panel: rl.Ratings, tmp_path: Path) -> None:
    """Student minus rater minus item is the predictor itself, anchored or not."""
    for raters in ({}, {"R1": (None, 0.5), "R2": (None, -0.2)}):
        fit = rl.fit(panel, "tfm", anchors=rl.Anchors(raters=raters))
        blocks = rl.facets_tables(fit, panel).split("Table 7.")[1:]
        first = [dict(_measures(block)) for block in blocks]
        student, rater, item = "S07", "R2", "I3"
        shown = first[0][student] - first[1][rater] - first[2][item]
        theta = fit.students.filter(student=student)["theta"].item()
        eta = fit.raters.filter(rater=rater)["eta"].item()
        delta = fit.items.filter(item=item)["delta"].item()
        assert shown == pytest.approx(fit.sigma * theta - eta - delta + fit.alpha, abs=0.02)
        if raters:
            assert first[1]["R1"] == 0.5


def _measures(block: str) -> list[tuple[str, float]]:
    rows = [line.split() for line in block.splitlines()[3:]]
    return [(row[10], float(row[4])) for row in rows if len(row) == 11]


def test_tables_need_logits(panel: rl.Ratings) -> None:
    fit = rl.fit(panel, "gmf", link="probit", scale="graded", standard_errors=False)
    with pytest.raises(rl.RaterlensError, match="in logits"):
        rl.facets_tables(fit, panel)


def test_convert_there_and_back(panel: rl.Ratings, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    long_table(panel).write_csv(tmp_path / "a.csv")
    steps = [("a.csv", "b.parquet"), ("b.parquet", "c.jsonl"), ("c.jsonl", "d.facets"), ("d.facets", "e.tsv")]
    for source, target in steps:
        assert main(["convert", str(tmp_path / source), "--out", str(tmp_path / target)]) == 0
    assert f"{panel.n_ratings:,} ratings written to" in capsys.readouterr().out
    assert rows(read(tmp_path / "e.tsv")) == rows(panel)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.csv",
        "b.parquet",
        "c.jsonl",
        "d.facets",
        "e.tsv",
    ]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--out", "x.txt"], "'x.txt' does not say what to write; add --to csv"),
        (["--out", "nowhere/x.csv"], "give a file in a folder that exists"),
        (["--out", "x.csv", "--to", "cvs"], "did you mean 'csv'?"),
    ],
)
def test_convert_refuses(
    arguments: list[str],
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("student,rater,score\n1,a,0\n2,b,1\n")
    assert main(["convert", "a.csv", *arguments]) == 2
    assert what in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
