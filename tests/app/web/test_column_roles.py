"""From roles on the page to how a table is read."""

import pytest

from raterlens.app.web.column_roles import read_config
from raterlens.base.errors import OptionError
from raterlens.config import ReadConfig

LONG = {"pupil": "student", "judge": "rater", "topic": "rater", "task": "item", "mark": "score"}
WIDE = {"pupil": "student", "judge": "rater", "style": "score", "plot": "score", "day": "facet"}
EACH_RATER = {"pupil": "student", "AM": "score", "BE": "score"}


def test_what_was_chosen_is_what_is_read() -> None:
    assert read_config(LONG, cut=3) == ReadConfig(
        student=["pupil"], rater=["judge", "topic"], item=["task"], score="mark", cut=3
    )
    assert read_config(WIDE, sheet="Marks") == ReadConfig(
        student=["pupil"], rater=["judge"], items=["style", "plot"], facets=["day"], table="Marks"
    )
    assert read_config(EACH_RATER, wide="{rater}") == ReadConfig(
        student=["pupil"], items=["AM", "BE"], wide="{rater}"
    )


@pytest.mark.parametrize(
    ("roles", "wide", "option", "message"),
    [
        (
            {"mark": "score", "judge": "rater"},
            None,
            "student",
            "no column is marked as the student; mark one",
        ),
        (EACH_RATER, None, "rater", "or say below the table that each score column is for one rater"),
        (
            LONG | {"grade": "score"},
            None,
            "item",
            "'mark', 'grade' are all marked as scores, and 'task' as the item",
        ),
        (WIDE, "{rater}", "rater", "'judge' is marked as the rater, and so are the score columns"),
    ],
)
def test_roles_that_do_not_go_together(
    roles: dict[str, str], wide: str | None, option: str, message: str
) -> None:
    with pytest.raises(OptionError) as refused:
        read_config(roles, wide=wide)
    assert message in str(refused.value)
    assert refused.value.option == option
