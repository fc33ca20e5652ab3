"""Which column may be what."""

import polars as pl

from raterlens.app.web.column_guesses import guess, patterns
from raterlens.config import ReadConfig


def test_what_the_reader_understands_is_what_the_page_shows() -> None:
    frame = pl.DataFrame(
        {
            "pupil": ["a", "b", "c", "d", "e", "f"],
            "judge": list("XYXYXY"),
            "style": ["good", "bad", "good", "good", "bad", "good"],
            "age": [11.5, 12.5, 13.5, 14.5, 15.5, 16.5],
        }
    )
    found = guess(frame, ReadConfig())
    assert found.roles == {"pupil": "student", "judge": "rater", "style": "score"}
    assert (found.spread, found.config.map) == ("item", "good=1,bad=0")
    assert [one["certain"] for one in found.findings] == [True]


def test_a_table_that_cannot_be_read_yet_has_its_roles_as_far_as_they_go() -> None:
    frame = pl.DataFrame(
        {
            "pupil": ["a", "b", "c", "d", "e", "f"],
            "judge": list("XYXYXY"),
            "style": ["0", "1", "3", "2", "sublime", "1"],
            "number": [101, 102, 103, 104, 105, -1],
        }
    )
    found = guess(frame, ReadConfig())
    assert found.roles == {"pupil": "student", "judge": "rater", "style": "score"}
    assert found.findings == []


def test_names_that_make_a_grid() -> None:
    scores = ["R1 style", "R1 plot", "R2 style", "R2 plot"]
    known = patterns(scores)
    assert known == {"rater": "{rater}", "grid": "{rater} {item}", "turned": "{item} {rater}"}
    frame = pl.DataFrame({"student": ["a", "b"], **{name: [0, 1] for name in scores}})
    found = guess(frame, ReadConfig())
    assert (found.spread, found.patterns) == ("grid", known)
    single = guess(pl.DataFrame({"student": ["a", "b"], "Mark AM": [0, 1], "Mark BE": [1, 1]}), ReadConfig())
    assert (single.spread, single.patterns["rater"]) == ("rater", "Mark {rater}")
