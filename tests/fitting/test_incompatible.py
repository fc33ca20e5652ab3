"""Parts of a request that do not go together."""

from dataclasses import replace

import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.config import FitConfig
from raterlens.models.build import EVERY_PART
from raterlens.models.requested import refuse_clashes
from raterlens.ratings.coded import Ratings
from tests.support.shared_panels import panel


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
        if part.given(every.changed(link=link), ratings) is not None
    }
    names = {part.name for part in EVERY_PART}
    assert len(names) == len(EVERY_PART)
    assert {other for part in EVERY_PART for other in part.apart} <= names
    assert names - there <= {"draw", "draws", "pieces"}
