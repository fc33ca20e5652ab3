"""Options of facets models that do not go together, and scores that a model does not take."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError, RaterlensError
from raterlens.capability.yardstick import ABSOLUTE, PERFECT
from raterlens.config import Anchors, EarlierScale, FitConfig
from raterlens.estimation.scoring import place
from raterlens.fitting.checks import Run, check, check_scores, default_yardstick, known_scores
from raterlens.models.build import EVERY_PART, model_options
from raterlens.models.requested import refuse_clashes
from raterlens.models.terms import rater_interactions
from raterlens.ratings.coded import Ratings
from tests.support.facets_models import with_some_known
from tests.support.interaction_ratings import planted
from tests.support.piece_ratings import ratings_of, table_of
from tests.support.shared_panels import panel


def ordered(scores: list[int]) -> rl.Ratings:
    rows = len(scores)
    return rl.read(
        pl.DataFrame(
            {
                "student": np.arange(rows) // 2,
                "rater": ["a", "b"] * (rows // 2),
                "score": scores,
            }
        )
    )


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"link": "log", "method": "laplace"}, "method"),
        ({"link": "cauchit", "method": "hl"}, "method"),
        ({"anchors": Anchors(items={"i": 0.0}), "method": "hl"}, "anchors"),
        ({"anchors": Anchors(), "covariates": {"rater": ["a"], "x": [1]}}, "covariates"),
        ({"covariance": "conditional"}, "covariance"),
        ({"covariance": "expected", "method": "laplace"}, "covariance"),
        ({"covariance": "sandwich", "link": "log"}, "covariance"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, option):
    with pytest.raises(OptionError) as caught:
        check(FitConfig(**options), Run())
    assert caught.value.option == option
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "probit"}, "use model='gmf'"),
        ({"method": "laplace"}, "use method='mml'"),
        ({"link": "log"}, "link='cloglog' with scale='graded'"),
        ({"link": "probit"}, "use scale='graded' or link='logit'"),
    ],
)
def test_ordered_scores_that_a_model_does_not_take(options, message):
    config, ratings = FitConfig(**options), ordered([0, 1, 2, 2, 1, 0])
    with pytest.raises(InputError, match=message) as caught:
        check_scores(ratings, 3, model_options(config), config.method)
    assert "give the lowest passing score, for example cut=2" in str(caught.value)
    assert caught.value.worded(lambda o: f"--{o.name} {o.value}").count("--cut 2") == 1


@pytest.mark.parametrize("options", [{}, {"link": "probit", "scale": "graded"}, {"scale": "partial credit"}])
def test_ordered_scores_that_a_model_takes(options):
    config = FitConfig(**options)
    check_scores(ordered([0, 1, 2, 2]), 3, model_options(config), config.method)


def test_only_scores_that_were_given_are_known():
    assert known_scores(FitConfig(), ordered([0, 3, 5, 3])) == (0, 3, 5)
    earlier = EarlierScale((0, 1, 2, 3, 4, 5), 1.2, 0.3, "standard")
    anchored = FitConfig(anchors=Anchors(earlier=earlier))
    assert known_scores(anchored, ordered([0, 3, 5, 3])) == (0, 1, 2, 3, 4, 5)


def test_the_yardstick_of_a_request_that_names_none():
    plain, probit = FitConfig(), FitConfig(model="probit")
    assert default_yardstick(plain, model_options(plain)).reference == "max"
    own = default_yardstick(probit, model_options(probit))
    assert (own.reference, own.origin) == (PERFECT, ABSOLUTE)
    anchored = FitConfig(anchors=Anchors(earlier=EarlierScale((0, 1), 1.2, 0.3, "normal 0 2")))
    found = default_yardstick(anchored, model_options(anchored))
    assert (found.reference, found.population, found.origin) == (1.2, "normal 0 2", -0.3)


# -- Parts of a request that do not go together ------------------------------------------------------------------


@pytest.fixture(scope="module")
def known() -> Ratings:
    return panel(students=30, raters=4, known=10).ratings


def test_what_does_not_go_together_is_named_with_its_value_and_a_way_out(known):
    with pytest.raises(OptionError) as caught:
        refuse_clashes(EVERY_PART, FitConfig(halo="common", method="hl"))
    assert str(caught.value) == (
        "halo='common' does not go with method='hl', which takes each student at one ability; use method='mml'"
    )
    assert (caught.value.option, caught.value.value) == ("method", "hl")
    with pytest.raises(OptionError, match="halo='common' does not go with known=; leave out one of them"):
        refuse_clashes(EVERY_PART, FitConfig(halo="common"), known)


def test_what_ratings_name_is_asked_once_they_are_there(known):
    config = FitConfig(interactions="rater:item")
    refuse_clashes(EVERY_PART, config)
    with pytest.raises(OptionError, match="does not go with known"):
        refuse_clashes(EVERY_PART, config, known)
    refuse_clashes(EVERY_PART, config, replace(known, known=None))


def test_every_part_that_a_rule_names_can_be_given(known):
    """A name that nothing gives would be a rule that never says anything."""
    plain = rl.simulate(students=4, raters=2, items=1, seed=1).ratings
    facet = rl.read(
        plain.table().with_columns(essay="student", school="student"), piece="essay", group="school"
    )
    every = FitConfig(
        model="probit",
        method="hl",
        scale="continuous",
        halo="ability",
        ability="smooth",
        interactions="rater:item",
        item_slopes=True,
        prior="panel",
        shared="yes",
        reference="perfect",
        covariance="opg",
        anchors=rl.Anchors(),
        covariates={"rater": ["a"], "x": [1]},
        trusted=["a"],
    )
    there = {
        part.name
        for part in EVERY_PART
        for link in ("log", "cauchit")
        for ratings in (known, facet)
        if part.asked.value(every.changed(link=link), ratings) is not None
    }
    names = {part.name for part in EVERY_PART}
    assert len(names) == len(EVERY_PART)
    assert {other for part in EVERY_PART for other in part.apart} <= names
    assert names - there <= {"draw", "draws", "pieces"}


# -- Interactions are refused, with the reason, where ratings cannot show them -----------------------------------


def refused(ratings: rl.Ratings, message: str, **options) -> None:
    with pytest.raises(RaterlensError, match=message):
        rl.fit(ratings, **{"model": "gmf"} | ({"interactions": "rater:item", "starts": 1} | options))


def test_one_item_one_rater_and_nested_raters():
    one = rl.simulate(students=40, raters=4, items=1, raters_per_student=2, seed=1).ratings
    refused(one, r"4 raters on 1 item, 4 combinations of which occur, tell no interaction from severities")
    table = rl.simulate(students=40, raters=3, items=3, raters_per_student=3, seed=1).ratings.table()
    alone = rl.read(table.filter(pl.col("rater") == table["rater"][0]))
    refused(alone, r"1 rater on 3 items, 3 combinations")
    nested = table.filter(pl.col("rater").rank("dense") == pl.col("item").rank("dense"))
    refused(rl.read(nested), r"3 raters on 3 items, 3 combinations")


def test_one_rating_per_cell():
    rows = [(f"s{r}{i}", f"r{r}", f"i{i}", (r + i) % 2) for r in range(4) for i in range(4)]
    frame = pl.DataFrame(rows, schema=["student", "rater", "item", "score"], orient="row")
    refused(
        rl.read(frame), r"no rater has two ratings on any item, so an interaction cannot be told from chance"
    )


def test_what_does_not_go_together(small):
    refused(
        small,
        "does not go with method='laplace', which takes each student at one ability; use method='mml'",
        method="laplace",
    )
    refused(
        small,
        "does not go with link='log', whose probabilities have a corner; use link='cloglog'",
        link="log",
    )
    refused(small, "does not go with covariance='sandwich'; use covariance='observed'", covariance="sandwich")
    refused(small, "unknown facet in interactions 'topic'", interactions="rater:topic")
    refused(small, "does not go with trusted", trusted=[str(small.raters[0])])
    refused(with_some_known(small), "does not go with known")
    refused(small, "model 'hrm' takes no interactions", model="hrm")


def test_covariates_leave_raters_no_severities_of_their_own(small):
    covariates = {"rater": small.raters.to_list(), "years": list(range(small.n_raters))}
    refused(
        small, "what a rater adds on all items alike would be taken for interactions", covariates=covariates
    )
    fit = rl.fit(
        small, model="gmf", interactions="rater:item", covariates=covariates, prior="panel", halo="none"
    )
    assert fit.interactions.height > 0


def test_more_cells_than_are_estimated_together(small, monkeypatch):
    monkeypatch.setattr(rater_interactions, "INTERACTION_CELLS", 10)
    refused(small, "15 interactions are more than the 10 that are estimated together")


def test_ratings_that_will_do():
    """Two raters on two items, each item scored more than once."""
    ratings, _ = planted(0.5, students=30, raters=3, items=2)
    two = ratings.subset(ratings.rater < 2)
    fit = rl.fit(replace(two, score=two.score), "tfm", interactions="rater:item", halo="none")
    assert np.isfinite(fit.loglik)
    assert fit.interactions.height == 4


# -- Pieces of work ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ratings():
    return ratings_of()


@pytest.fixture(scope="module")
def fit(ratings):
    return rl.fit(ratings, model="gmf", halo="common", ability="normal")


def test_both_spreads_are_estimated_and_pieces_have_a_quality(ratings, fit):
    effect = fit.table("piece effect").row(0, named=True)
    assert effect["low"] < 0.6 < effect["high"]
    assert effect["speaks"] == pytest.approx(1 / np.sqrt(1 + effect["spread"] ** 2))
    pieces = fit.pieces
    assert pieces.columns == ["student", "piece", "n", "mean_score", "quality", "quality_se"]
    assert pieces.height == 180
    assert pieces["n"].sum() == ratings.n_ratings
    # What a student can do in general is nearer to the mean than what its pieces are worth.
    own = pieces.group_by("student").agg(pl.col("quality").mean()).join(fit.students, on="student")
    assert np.corrcoef(own["quality"], own["theta"])[0, 1] > 0.98
    assert own["quality"].std() > own["theta"].std()


def test_gradients_by_differences(ratings, fit):
    placed = place(fit.calibration, ratings)
    problem, x = placed.problem, placed.parameters
    nodes = problem.fine_enough(fit_nodes(), x)
    found = problem.value(x, nodes).gradient
    for j, step in enumerate(np.eye(len(x)) * 1e-5):
        ahead, back = (problem.value(x + sign * step, nodes).objective for sign in (1, -1))
        assert found[j] == pytest.approx((ahead - back) / 2e-5, abs=2e-4)


def fit_nodes():
    from raterlens.likelihood.nodes import Nodes

    return Nodes.equally_spaced(-6.0, 6.0, 0.4)


def test_capability_is_that_of_pieces(fit):
    omega = fit.table("piece effect")["spread"][0]
    asked = fit.capability(population=(0.0, float(np.sqrt(1 + omega**2))))
    np.testing.assert_allclose(asked["kappa"], fit.raters["kappa"], atol=1e-9)


def test_a_saved_fit_and_a_diagnosis(fit, ratings, tmp_path):
    again = rl.load(fit.save(tmp_path / "fit.json"))
    assert again.pieces.equals(fit.pieces)
    assert fit.diagnose(ratings).table("raters").height == 6


def test_one_piece_per_student_is_refused():
    table = table_of(students=20, pieces=1)
    with pytest.raises(InputError, match="one piece of work only"):
        rl.fit(
            table, model="gmf", student="student", rater="rater", item="item", score="score", piece="essay"
        )


def test_pieces_that_are_read_once_have_a_reading_effect_only():
    ratings = ratings_of(students=30, twice=0.0)
    fit = rl.fit(ratings, model="gmf", halo="common", standard_errors=False)
    assert "pieces" not in fit.tables
    assert any("read by one rater" in text for text in fit.warnings)
    # A rater who reads two of a student's pieces has two readings, not one.
    assert fit.raters["halo"][0] > 0.3


@pytest.mark.parametrize(
    "options", [{"method": "laplace"}, {"ability": "smooth"}, {"covariance": "sandwich"}]
)
def test_what_does_not_go_with_pieces(ratings, options):
    with pytest.raises(RaterlensError, match="does not go with"):
        rl.fit(ratings, **{"model": "gmf"} | options)


def test_scoring_needs_the_pieces_too(fit):
    bare = rl.read(
        table_of(students=5).drop("essay"), student="student", rater="rater", item="item", score="score"
    )
    with pytest.raises(InputError, match="name none"):
        fit.score(bare)


# -- Where a shared dimension is refused, with the reason, and where it is left out in silence -------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "panel"}, "shared='yes' does not go with prior='panel'; leave out one of them"),
        ({"covariance": "sandwich"}, "does not go with covariance='sandwich'"),
        ({"link": "cauchit"}, "does not go with link='cauchit'"),
        ({"item_slopes": True}, "does not go with item_slopes=True"),
        ({"trusted": ["r00", "r01", "r02", "r03"]}, "6 raters, 4 of them trusted, are too few"),
    ],
)
def test_refused_where_asked_for_and_left_out_where_not(options: dict[str, object], message: str) -> None:
    ratings = panel(students=80, raters=6, known=60).ratings
    with pytest.raises(RaterlensError) as refused:
        rl.fit(ratings, shared=True, **{"model": "gmf"} | options)
    assert message in str(refused.value)
    assert "shared" not in rl.fit(ratings, **{"model": "gmf"} | options).tables


@pytest.mark.parametrize(
    ("known", "raters", "caution"),
    [
        (19, 6, "19 known answers may be taken"),
        (60, 4, "4 raters, 0 of them trusted, are too few"),
        (20, 6, ""),
    ],
)
def test_too_few_to_tell_the_truth_from_what_is_shared(known: int, raters: int, caution: str) -> None:
    ratings = panel(students=80, raters=raters, known=known).ratings
    fit = rl.fit(ratings, model="gmf", standard_errors=False)
    assert ("shared" in fit.tables) == (not caution)
    said = [text for text in map(str, fit.warnings) if "raters who share a bias outvote" in text]
    assert len(said) == bool(caution)
    assert all(caution in text for text in said)


def test_nothing_known_and_nobody_trusted() -> None:
    table = panel(students=40, raters=6).table.drop("gold")
    with pytest.raises(RaterlensError, match="no answer is known and no rater trusted"):
        rl.fit(table, model="gmf", shared=True)
    assert "shared" not in rl.fit(table, model="gmf").tables


def test_trusted_raters_who_share_no_student() -> None:
    table = panel(students=40, raters=6).table.drop("gold")
    apart = table.filter((pl.col("rater") == "r00") == (pl.col("student") < 20))
    with pytest.raises(RaterlensError, match="the trusted raters and the others share no student"):
        rl.fit(apart, model="gmf", shared=True, trusted="r00")
