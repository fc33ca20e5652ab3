"""Which judge is as capable as a person, and for which answers? python analyse.py verdicts.jsonl

The people's ratings define the scale; judges are put on it one at a time, so that none can vouch for another.
"""

import sys

import polars as pl

import raterlens as rl

COLUMNS = {"student": "response", "rater": ["judge", "prompt"], "item": "criterion", "score": "pass"}
ABILITIES = [-2.0, -1.0, 0.0, 1.0, 2.0]


def analyse(path: str) -> tuple[pl.DataFrame, pl.DataFrame, rl.Fit]:
    """Judges with their capability on the people's scale; the same at abilities; the people's own fit."""
    verdicts = pl.read_ndjson(path)
    by_people = pl.col("prompt") == "human"
    people = rl.fit(rl.read(verdicts.filter(by_people), **COLUMNS))
    least = people.table("raters").sort("kappa").row(0, named=True)
    rows, curves = [], [people.capability(theta=ABILITIES)]
    for judge, prompt in (
        verdicts.filter(~by_people).select("judge", "prompt").unique().sort("judge", "prompt").iter_rows()
    ):
        one = by_people | ((pl.col("judge") == judge) & (pl.col("prompt") == prompt))
        fit = rl.fit(rl.read(verdicts.filter(one), **COLUMNS), anchors=people)
        label = f"{judge}:{prompt}"
        row = fit.table("raters").filter(rater=label).row(0, named=True)
        verdict = "as capable" if row["kappa_low"] >= least["kappa_low"] else "unclear"
        if row["kappa_high"] < least["kappa"]:
            verdict = "less capable"
        kept = ("kappa", "kappa_low", "kappa_high", "eta", "rho")
        rows.append(
            {"judge": label, **{name: row[name] for name in kept}, "than the least capable person": verdict}
        )
        curves.append(fit.capability(theta=ABILITIES).filter(rater=label))
    return pl.DataFrame(rows).sort("kappa", descending=True), pl.concat(curves), people


if __name__ == "__main__":
    judges, curves, people = analyse(sys.argv[1] if len(sys.argv) > 1 else "verdicts.jsonl")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, float_precision=2, tbl_hide_dataframe_shape=True):
        print(people.table("raters").select("rater", "n", "kappa", "kappa_low", "kappa_high", "eta"))
        print(judges)
        print(curves.pivot("theta", index="rater", values="kappa"))
