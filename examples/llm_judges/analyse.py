"""Which judge may stand in for a person, and for which answers is it good? python analyse.py verdicts.jsonl

The people's ratings define the scale; judges are put on it one at a time, so that none can vouch for another.
"""

import sys

import polars as pl

import raterlens as rl

COLUMNS = {"student": "response", "rater": ["judge", "prompt"], "item": "criterion", "score": "pass"}
ABILITIES = [-2.0, -1.0, 0.0, 1.0, 2.0]


def analyse(path: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Judges with their capability beside people's, and capability at abilities."""
    verdicts = rl.read(path, **COLUMNS)
    people = [rater for rater in verdicts.raters if rater.endswith(":human")]
    by_people = rl.fit(verdicts.subset(verdicts.raters.is_in(people).to_numpy()[verdicts.rater]), model="gmf")
    rows, curves = [], [by_people.capability(theta=ABILITIES)]
    for judge in verdicts.raters:
        if judge in people:
            continue
        found = rl.can_replace(verdicts, judge, people=people)
        kappa = found.table["kappa"][0]
        rows.append((judge, kappa, found.difference, found.low, found.high, found.verdict))
        one = verdicts.raters.is_in([judge, *people]).to_numpy()
        anchored = rl.fit(verdicts.subset(one[verdicts.rater]), model="gmf", anchors=by_people)
        curves.append(anchored.capability(theta=ABILITIES).filter(rater=judge))
    schema = ["judge", "capability", "than people", "at least", "at most", "may stand in"]
    judges = pl.DataFrame(rows, schema=schema, orient="row")
    return judges.sort("capability", descending=True), pl.concat(curves)


if __name__ == "__main__":
    judges, curves = analyse(sys.argv[1] if len(sys.argv) > 1 else "verdicts.jsonl")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, float_precision=2, tbl_hide_dataframe_shape=True):
        print(judges)
        print(curves.pivot("theta", index="rater", values="kappa"))
