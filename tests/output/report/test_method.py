"""The method section, in words."""

from dataclasses import replace

import raterlens as rl
from raterlens.output.report.page import assumptions, has_errors, reproduced, settings
from raterlens.output.report.reproduce import Reproduction


def test_settings_say_how_it_went(make_fit) -> None:
    assert dict(settings(make_fit(3)))["Converged"] == "yes, in 23 iterations"
    assert dict(settings(make_fit(3, converged=False)))["Converged"].startswith("no, after 23 iterations: ")
    assert has_errors(make_fit(3))
    assert len(assumptions(make_fit(3))) == 3


def test_how_to_reproduce_has_a_command_where_there_was_one(make_fit) -> None:
    ((where, call),) = reproduced(make_fit(3), None)
    assert where == "In Python"
    assert call.startswith("import raterlens as rl")
    both = reproduced(make_fit(3), Reproduction("fit = ...", "raterlens fit a.csv"))
    assert both == (("On the command line", "raterlens fit a.csv"), ("In Python", "fit = ..."))


def test_a_reading_effect_may_be_the_text_unless_pieces_are_told_apart():
    from tests.support.piece_ratings import ratings_of

    ratings = ratings_of(students=25, twice=0.5)
    both = dict(settings(rl.fit(ratings, model="gmf", halo="common", standard_errors=False)))
    assert "a student's pieces differ" in both["Piece effect"]
    assert "quality of the piece" in both["Halo"]
    alone = dict(
        settings(rl.fit(replace(ratings, piece=None), model="gmf", halo="rater", standard_errors=False))
    )
    assert "may be the text" in alone["Reading effect"]
    assert "Piece effect" not in alone


def test_a_smooth_fit_does_not_take_abilities_for_normal(small):
    said = assumptions(rl.fit(small, model="gmf", ability="smooth", standard_errors=False))
    assert "estimated" in said[0]
    assert len(said) == 3
