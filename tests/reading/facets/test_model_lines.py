"""Models and scales."""

import pytest

from raterlens.base.errors import InputError
from raterlens.reading.facets.model_lines import Model, RatingScale, read_model, read_scale
from raterlens.reading.facets.syntax import Line, lines_of

LINE = Line(6, "Models = ...", "study.txt")


@pytest.mark.parametrize(
    ("text", "scored", "partial_credit", "unused", "bounds"),
    [
        ("?,?,?,R3", ("R", 3), (), (), []),
        ("?,?,#,R", ("R", 9), (2,), (), []),
        ("?,X,1-3,D", ("D", 1), (), (1,), [(2, range(1, 4))]),
        ("?B,2#,?B,D2", ("D", 2), (1,), (), [(1, range(2, 3))]),
        ("?,?,?,M", ("M", 1), (), (), []),
    ],
)
def test_a_model(text: str, scored: tuple, partial_credit: tuple, unused: tuple, bounds: list) -> None:
    model = read_model(LINE, text)
    assert model.scored({}) == scored
    assert (model.partial_credit, model.unused, model.bounds()) == (partial_credit, unused, bounds)
    assert model.interactions == tuple(place for place, sign in enumerate(text.split(",")) if "B" in sign)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R3", "is no model; give one"),
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
        InputError, match=r"'Grade' is no scale; use D, R3 or the name of a Rating scale: \['mark'\]"
    ):
        Model(("?", "?"), "Grade", LINE).scored(scales)
    with pytest.raises(InputError, match="the model has 2 facets where the data have 3"):
        Model(("?", "?"), "Mark", LINE).check(scales, 3)


def test_thresholds_of_a_scale_that_are_held() -> None:
    lines = lines_of("0 = low, 0, A\n1 = mid, -1.1, A\n2 = top, 1.1\n*\nData =", "x")
    scale = read_scale(LINE, "Mark, R2, S", lines)
    assert (scale.name, scale.code, scale.own, scale.thresholds) == ("Mark", "R2", True, {0: 0.0, 1: -1.1})
    assert next(lines).text == "Data ="
