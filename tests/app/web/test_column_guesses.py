"""Which column may be what."""

import polars as pl

from raterlens.app.web.column_guesses import guess_roles, guess_spread, patterns


def test_scores_are_few_whole_numbers_here_and_there_with_a_word() -> None:
    frame = pl.DataFrame(
        {
            "pupil": ["a", "b", "c", "d", "e", "f"],
            "judge": list("XYXYXY"),
            "style": ["0", "1", "3", "2", "absent", "1"],
            "age": [11.5, 12.5, 13.5, 14.5, 15.5, 16.5],
            "number": [101, 102, 103, 104, 105, -1],
        }
    )
    roles = guess_roles(frame)
    assert roles == {"pupil": "student", "judge": "rater", "style": "score"}
    assert guess_spread(roles, patterns(["style"])) == "item"


def test_names_that_make_a_grid() -> None:
    scores = ["AM style", "AM plot", "BE style", "BE plot"]
    known = patterns(scores)
    assert known == {"rater": "{rater}", "grid": "{rater} {item}", "turned": "{item} {rater}"}
    assert guess_spread(dict.fromkeys(scores, "score"), known) == "grid"
    assert guess_spread(dict.fromkeys(("AM", "BE"), "score"), patterns(["AM", "BE"])) == "rater"
