"""FACETS control files: syntax, data, studies read and written."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.reading.facets_control import (
    FacetLabels,
    Line,
    Model,
    RatingScale,
    fields,
    lines_of,
    numbers,
    parse_control,
    read_labels,
    read_model,
    read_scale,
    span,
    specification,
    specifications,
    values,
)
from raterlens.reading.facets_study import control_table, write_facets
from raterlens.reading.read import read
from tests.support.facets_files import ANCHORS, DATA, HEAD, LABELS, MODEL, ROWS, anchored, rows, write

# -- FACETS control files --


def test_lines_keep_their_numbers_and_lose_comments() -> None:
    text = 'Title = a ; note\n; all of it\n\n1 = "Smith; Ann" ; note\n'
    assert [(line.number, line.text) for line in lines_of(text, "x")] == [
        (1, "Title = a"),
        (4, '1 = "Smith; Ann"'),
    ]


@pytest.mark.parametrize(
    ("text", "known", "value"),
    [
        ("Non-centered = 1", "noncentered", "1"),
        ("T = Essays", "title", "Essays"),
        ("rating (or partial credit) scale = Mark,R3", "rating scale", "Mark,R3"),
        ("Inter-rater=2", "interrater", "2"),
        ("Arrange = m", "", "m"),
    ],
)
def test_names_are_known_by_their_first_letters(text: str, known: str, value: str) -> None:
    found = specification(Line(1, text, "x"))
    assert found is not None
    assert (found.keyword, found.value) == (known, value)


def test_fields_and_values() -> None:
    assert fields('7 = "Smith, Ann", 0.5') == ["7", "Smith, Ann", "0.5"]
    assert values("1, 2,\t3") == ["1", "2", "", "3"]
    assert values("1  2 3") == ["1", "2", "3"]
    assert values('1 "Smith Ann" 3') == ["1", "Smith Ann", "3"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3", range(3, 4)), ("1-5", range(1, 6)), ("2_4", range(2, 5)), ("3-1", range(3, 2)), ("a", None)],
)
def test_ranges(text: str, expected: range | None) -> None:
    assert span(text) == expected


def test_numbers_of_facets() -> None:
    line = Line(4, "Positive = 1,x", "study.txt")
    assert numbers(line, "1, 3 4") == [1, 3, 4]
    with pytest.raises(
        InputError, match=r"'study.txt', line 4: '1,x' should be numbers of facets; write them"
    ):
        numbers(line, "1,x")


def facet_of(text: str) -> FacetLabels:
    (facet,) = read_labels(lines_of(text, "x"))
    return facet


def test_elements_with_labels_measures_and_ranges() -> None:
    facet = facet_of("2, Raters, A\n1 = Ann, 0.5\n3-4 = reader, -1\n7\n*\n")
    assert (facet.number, facet.name, facet.anchored, facet.dummy) == (2, "Raters", True, False)
    assert facet.labels() == {1: "Ann", 3: "reader 3", 4: "reader 4", 7: "7"}
    assert [element.measure for element in facet.elements.values()] == [0.5, -1.0, -1.0, None]


def test_two_of_the_same_name_are_told_apart_by_their_numbers() -> None:
    assert facet_of("1, Pupils\n1 = Ida\n2 = Ida\n*\n").labels() == {1: "Ida (1)", 2: "Ida (2)"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2, Raters, G\n", "line 1: facet 2 is group-anchored"),
        ("2, Raters\n1 = Ann, x\n", "line 2: the measure 'x' is not a number"),
        ("2, Raters\n1 = Ann, inf\n", "line 2: the measure 'inf' is not a finite number"),
        ("2, Raters\n1x = Ann\n", "line 2: '1x' is not an element number"),
        ("2, Raters\n1 = Ann,,,3\n", "line 2: weights and merged elements are not supported"),
    ],
)
def test_what_is_no_element(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        facet_of(text)


def test_what_a_second_line_of_an_element_leaves_out_stays(tmp_path: Path) -> None:
    labels = LABELS.replace("2, Readers", "2, Readers, A").replace("1 = Ann", "1 = Ann, 0.5\n1-2 = ,,7")
    study = rl.read_facets(write(tmp_path, HEAD + MODEL + labels + DATA))
    assert study.severities == {"Ann": 0.5}
    assert rows(study.ratings) == sorted(ROWS)


def test_labels_hold_separators_between_quotes(tmp_path: Path) -> None:
    text = HEAD + "Delements = NL\n" + MODEL + LABELS.replace("= Ann", '= "Smith, Ann; MA"   ; a comment')
    commas = read(write(tmp_path, text + DATA.replace("1,1,1-3", '1,"smith, ann; ma",1-3')))
    blanks = read(write(tmp_path, text + 'Data=\n1 "Smith, Ann; MA" 2 3\n2 Bob 2 0\n'))
    assert commas.raters.to_list() == blanks.raters.to_list() == ["Bob", "Smith, Ann; MA"]
    assert rows(commas) == sorted((s, r.replace("Ann", "Smith, Ann; MA"), i, y) for s, r, i, y in ROWS)


LINE = Line(6, "Models = ...", "study.txt")


@pytest.mark.parametrize(
    ("text", "scored", "own_thresholds", "unused", "bounds"),
    [
        ("?,?,?,R3", ("R", 3), [], [], []),
        ("?,?,#,R", ("R", 9), [2], [], []),
        ("?,X,1-3,D", ("D", 1), [], [1], [(2, range(1, 4))]),
        ("?B,2#,?B,D2", ("D", 2), [1], [], [(1, range(2, 3))]),
        ("?,?,?,M", ("M", 1), [], [], []),
    ],
)
def test_a_model(text: str, scored: tuple, own_thresholds: list, unused: list, bounds: list) -> None:
    model = read_model(LINE, text)
    assert model.scored({}) == scored
    assert (model.signed("#"), model.unused, model.bounds()) == (own_thresholds, unused, bounds)
    assert model.signed("B") == [place for place, sign in enumerate(text.split(",")) if "B" in sign]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R3", "is not a model; give one"),
        ("?,-?,R3", "a facet is turned round"),
        ("?,?,R3,0.5", "the model has the weight 0.5"),
        ("?,?,R3,x", "the weight 'x' is not a number"),
    ],
)
def test_what_is_no_model(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_model(LINE, text)


def test_a_model_names_a_scale() -> None:
    scales = {"mark": RatingScale("Mark", "R4", LINE)}
    assert Model(("?", "?"), "Mark", LINE).scored(scales) == ("R", 4)
    with pytest.raises(
        InputError, match=r"'Grade' is not a scale; use D, R3 or the name of a Rating scale: \['mark'\]"
    ):
        Model(("?", "?"), "Grade", LINE).scored(scales)


def test_thresholds_of_a_scale_that_are_held() -> None:
    text = "Rating scale = Mark, R2, S\n0 = low, 0, A\n1 = mid, -1.1, A\n2 = top, 1.1\n*\nData ="
    given, data = specifications(lines_of(text, "x"))
    scale = read_scale(given)
    assert (scale.name, scale.code, scale.thresholds) == ("Mark", "R2", {0: 0.0, 1: -1.1})
    assert data.keyword == "data"


def test_a_whole_file(tmp_path: Path) -> None:
    ratings = read(write(tmp_path, HEAD + MODEL + LABELS + DATA))
    assert rows(ratings) == sorted(ROWS)
    assert "FACETS control file 'Essays of a summer school'" in ratings.notes
    assert "rater: 'Readers' (from the file; override with rater=)" in ratings.notes
    assert any("Arrange (line 7)" in note for note in ratings.notes)


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


def test_an_ordinary_text_table_is_no_control_file(tmp_path: Path) -> None:
    path = write(tmp_path, "student\trater\tscore\n1\ta\t0\n2\tb\t1\n")
    assert read(path).n_ratings == 2


# -- Control files of FACETS --


@pytest.fixture(scope="module")
def panel() -> rl.Ratings:
    """Three facets and scores from 0 to 2."""
    return rl.simulate(
        students=60, raters=5, items=3, raters_per_student=3, thresholds=[-0.8, 0.8], seed=3
    ).ratings


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
    "numbered twice": HEAD + MODEL + LABELS.replace("1 = Ann", "1-2 =\n1 = Ann") + DATA,
    "a weight of one": HEAD + "Models = ?,?,?,R3,1\n" + LABELS + DATA,
    "a longer scale": HEAD + "Models = ?,?,?,R5\n" + LABELS + DATA,
    "labels with tabs": HEAD + MODEL + LABELS.replace(" = ", "\t").replace(", ", "\t") + DATA,
    "labels with commas": HEAD + MODEL + LABELS.replace(" = ", ",") + DATA,
    "quotes": HEAD + MODEL + LABELS.replace("= Ann", '= "Ann"') + DATA.replace("1,1,1-3", '"1","1",1-3'),
    "places of the data": HEAD
    + "Entered = 3,1,2\nDvalues = 1, 1-3\n"
    + MODEL
    + LABELS
    + "Data=\n1,1,2,3,1\n2,1,0,1,2\n3,2,3,3,0\n1,2,,1,\n",
    "windows lines": (HEAD + MODEL + LABELS + DATA).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_same_ratings(form: str, tmp_path: Path) -> None:
    assert rows(read(write(tmp_path, FORMS[form]))) == sorted(ROWS)


def test_repeated_and_the_same_on_every_line(tmp_path: Path) -> None:
    text = HEAD + "Dvalues = 3, 1-3\n" + MODEL + LABELS + "Data=\n1,1,2,3,1\nR2,2,1,0,1,2\n3,2,3,3,0\n"
    jo = [row for row in ROWS if row[0] == "Jo"]
    assert rows(read(write(tmp_path, text))) == sorted([*ROWS[:-1], *jo])


def test_a_cut_of_the_file(tmp_path: Path) -> None:
    ratings = read(write(tmp_path, HEAD + "Models = ?,?,?,D2\n" + LABELS + DATA))
    assert rows(ratings) == sorted((s, r, i, int(y >= 2)) for s, r, i, y in ROWS)


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


@pytest.mark.parametrize(
    ("change", "roles"),
    [
        ((), ("Pupils", "Readers", "Criteria")),
        (("Inter-rater = 2", "Inter-rater = 3"), ("Pupils", "Criteria", "Readers")),
        (("Positive = 1", "Positive = 3"), ("Pupils", "Readers", "Criteria")),
    ],
)
def test_roles_follow_from_the_file(
    change: tuple[str, str] | tuple, roles: tuple[str, ...], tmp_path: Path
) -> None:
    text = HEAD + MODEL + LABELS + DATA
    control = parse_control(write(tmp_path, text.replace(*change) if change else text))
    found = control_table(control).roles
    assert tuple(found[role] for role in ("student", "rater", "item")) == roles


@pytest.mark.parametrize(
    ("model", "scale"), [("tfm", "rating scale"), ("gmf", "partial credit"), ("tfm", "rater")]
)
def test_estimates_agree_with_the_long_table(
    panel: rl.Ratings, model: str, scale: str, tmp_path: Path
) -> None:
    panel.table().write_csv(tmp_path / "long.csv")
    rl.write_facets(panel, tmp_path / "study.txt", scale=scale)
    study = rl.read_facets(tmp_path / "study.txt")
    long = rl.fit(read(tmp_path / "long.csv"), model, scale=scale)
    control = rl.fit(study.ratings, model, scale=study.scale)
    assert control.loglik == long.loglik
    for name in ("raters", "items", "students"):
        assert control.table(name).equals(long.table(name))


@pytest.mark.parametrize(
    ("scale", "model"),
    [
        ("rating scale", "?,?,?,R2"),
        ("partial credit", "?,?,#,R2"),
        ("rater", "?,#,?,R2"),
        ("partial credit, rater", "?,#,#,R2"),
    ],
)
def test_own_thresholds(panel: rl.Ratings, scale: str, model: str, tmp_path: Path) -> None:
    rl.write_facets(panel, tmp_path / "study.txt", scale=scale)
    assert f"Models = {model}\n" in (tmp_path / "study.txt").read_text()
    assert rl.read_facets(tmp_path / "study.txt").scale == scale


def test_own_thresholds_in_several_models(panel: rl.Ratings, tmp_path: Path) -> None:
    rl.write_facets(panel, tmp_path / "study.txt")
    text = (tmp_path / "study.txt").read_text()
    write(tmp_path, text.replace("Models = ?,?,?,R2", "Models =\n?,1#,?,R2\n?,?,#,R2\n*"))
    assert rl.read_facets(tmp_path / "study.txt").scale == "partial credit, rater"


def test_thresholds_of_students_are_refused(panel: rl.Ratings, tmp_path: Path) -> None:
    rl.write_facets(panel, tmp_path / "study.txt")
    write(tmp_path, (tmp_path / "study.txt").read_text().replace("?,?,?,R2", "#,?,?,R2"))
    with pytest.raises(
        rl.RaterlensError, match=r"line 6: each element of facet 1 \(Students\) has its own thresholds"
    ):
        rl.read_facets(tmp_path / "study.txt")


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
    with pytest.raises(rl.RaterlensError, match="use model='tfm'"):
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


def test_labels_that_hold_separators_stay_apart(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"student": ["a,1", "a;1", "b"], "rater": ['Ann "A"', "Bob=", "Bob="], "score": [0, 1, 1]}
    )
    write_facets(read(frame), tmp_path / "study.txt")
    again = read(tmp_path / "study.txt")
    assert again.students.to_list() == ["a,1", "a;1", "b"]
    assert again.score.tolist() == [0, 1, 1]


@pytest.mark.parametrize(("scale", "sign"), [("rating scale", "?,?,?"), ("partial credit", "?,?,#")])
def test_the_file_in_full(scale: str, sign: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"student": ["s", "t"], "rater": ["a", "a"], "item": ["i", "i"], "score": [2, 0]})
    write_facets(read(frame), tmp_path / "x.txt", title="Two; marks", scale=scale)
    assert (tmp_path / "x.txt").read_text().splitlines() == [
        "Title = Two  marks",
        "Facets = 3",
        "Positive = 1",
        "Non-centered = 1",
        "Inter-rater = 2",
        f"Models = {sign},R2",
        *(
            "Labels =",
            "1, Students",
            "1 = s",
            "2 = t",
            "*",
            "2, Raters",
            "1 = a",
            "*",
            "3, Items",
            "1 = i",
            "*",
        ),
        *("Data =", "1,1,1,2", "2,1,1,0"),
    ]


def test_a_folder_is_no_file(panel: rl.Ratings, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"cannot write .*: Is a directory; give a file you may write to"):
        write_facets(panel, tmp_path)
