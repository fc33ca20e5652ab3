"""Parts of a request that do not go together."""

from dataclasses import replace

import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.config import FitConfig
from raterlens.fitting.facets_checks import APART, given, refuse_clashes
from raterlens.ratings.coded import Ratings
from tests.support.shared_panels import panel


@pytest.fixture(scope="module")
def known() -> Ratings:
    return panel(students=30, raters=4, known=10).ratings


def test_what_does_not_go_together_is_named_with_its_value_and_a_way_out(known):
    with pytest.raises(OptionError) as caught:
        refuse_clashes(FitConfig(halo="common", method="hl"))
    assert str(caught.value) == (
        "halo='common' does not go with method='hl', which takes each student at one ability; use method='mml'"
    )
    assert (caught.value.option, caught.value.value) == ("method", "hl")
    with pytest.raises(OptionError, match="halo='common' does not go with known=; leave out one of them"):
        refuse_clashes(FitConfig(halo="common"), known)


def test_what_ratings_name_is_asked_once_they_are_there(known):
    config = FitConfig(interactions="rater:item")
    refuse_clashes(config)
    with pytest.raises(OptionError, match="does not go with known"):
        refuse_clashes(config, known)
    refuse_clashes(config, replace(known, known=None))


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
    named = {
        name
        for link in ("log", "cauchit")
        for ratings in (known, facet)
        for name in given(every.changed(link=link), ratings)
    }
    rules = {*APART, *(other for others in APART.values() for other in others)}
    assert rules - named <= {"draw", "draws", "pieces"}
