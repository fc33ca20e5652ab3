"""A metric for Inspect AI: the capability of each judge of a panel, measured against known answers.

The scorer keeps every judge's verdict in the score's metadata; some samples have a `human_label` in theirs:

    @scorer(metrics=[judge_capability()])
    def panel():
        async def score(state, target):
            verdicts = {name: await ask(judge, state) for name, judge in JUDGES.items()}  # 1 pass, 0 fail
            return Score(value=sum(verdicts.values()) / len(verdicts), metadata={"verdicts": verdicts})
        return score
"""

import polars as pl
from inspect_ai.scorer import Metric, SampleScore, metric

import raterlens as rl


@metric
def judge_capability(known: str = "human_label") -> Metric:
    """Sensitivity + specificity - 1 of each judge; at least 15 samples need a known answer, a random choice of all."""

    def capability(scores: list[SampleScore]) -> dict[str, float]:
        rows = [
            {
                "answer": str(each.sample_id),
                "judge": judge,
                "verdict": int(verdict),
                "known": (each.sample_metadata or {}).get(known),
            }
            for each in scores
            for judge, verdict in (each.score.metadata or {})["verdicts"].items()
        ]
        table = pl.DataFrame(rows, infer_schema_length=None)
        found = rl.judge(table, student="answer", rater="judge", score="verdict", known="known")
        return dict(found.tables["judges"].select("judge", "capability").iter_rows())

    return capability
