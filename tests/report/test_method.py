"""What was fitted and how, in words."""

from raterlens.report.method import assumptions, has_errors, reproduced, settings
from raterlens.report.reproduce import Reproduction


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
