"""Options of any kind and any value, as a program might pass them: an answer or a refusal, and no other error."""

from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import raterlens as rl
from audit.subject import Case, Subject, refusal
from raterlens.base.errors import RaterlensError
from raterlens.config import FIT_OPTIONS, READ_OPTIONS
from raterlens.ratings.coded import Ratings

FRAME = pl.DataFrame(
    {
        "student": [i // 4 for i in range(24)],
        "rater": ["a", "b"] * 12,
        "item": [1, 1, 2, 2] * 6,
        "score": [0, 1, 1, 1, 0, 0, 1, 0] * 3,
        "day": [i % 5 for i in range(24)],
    }
)


def values() -> SearchStrategy[Any]:
    words = [
        "",
        "student",
        "rater",
        "gmf",
        "max",
        "nan",
        "1e9",
        "\0",
        "{rater}",
        "normal 0 0",
        "window 1 0",
        "a" * 300,
    ]
    simple = (
        st.none()
        | st.booleans()
        | st.integers(-3, 5)
        | st.sampled_from([2**63, -(2**70), 10**400])
        | st.floats(width=32)
        | st.sampled_from(words)
        | st.text(max_size=5)
    )
    return simple | st.lists(simple, max_size=3) | st.dictionaries(st.sampled_from(words), simple, max_size=2)


def cases() -> SearchStrategy[Case]:
    def options(call: str) -> SearchStrategy[Case]:
        names = {
            "read": [*READ_OPTIONS, "sheet"],
            "simulate": ["students", "raters", "items", "raters_per_student", "thresholds", "seed", "model"],
        }.get(call, [*FIT_OPTIONS, "cut"])
        given = st.dictionaries(st.sampled_from(names), values(), min_size=1, max_size=2)
        return st.fixed_dictionaries({"call": st.just(call), "options": given})

    return st.sampled_from(("fit", "read", "simulate")).flatmap(options)


def check(case: Case, folder: Path) -> str:
    options = dict(case["options"])
    if case["call"] == "simulate" and any(_large(value) for value in options.values()):
        return "too large to try"
    try:
        if case["call"] == "fit":
            rl.fit(FRAME, **{"max_iterations": 5, **options})
        elif case["call"] == "read":
            assert isinstance(rl.read(FRAME, **options), Ratings)
        else:
            rl.simulate(**{"students": 6, "raters": 2, **options})
    except RaterlensError as error:
        return refusal(error)
    except TypeError as error:
        if "unexpected keyword argument" in str(error):
            return "refused"
        raise
    return "done"


def _large(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) > 10**6


SUBJECT = Subject("wrong options", cases, check, share=0.1, batch=40)
