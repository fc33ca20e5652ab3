"""Writes the logs in tests/data with the real package, calling no model: python -m tests.support.inspect_logs FOLDER.

Needs inspect_ai (tried with 0.3.285), which is too large to be a dependency of the tests.
"""

import sys
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, PARTIAL, Score, accuracy, mean, scorer
from inspect_ai.solver import solver


@solver
def nothing():
    async def solve(state, generate):
        return state

    return solve


@scorer(metrics=[accuracy()], name="letters")
def letters():
    async def score(state, target):
        return Score(value=[CORRECT, INCORRECT, PARTIAL, NOANSWER][state.metadata["n"] % 4])

    return score


@scorer(metrics={"clarity": [mean()], "truth": [mean()]}, name="rubric")
def rubric():
    async def score(state, target):
        n = state.metadata["n"]
        return Score(value={"clarity": n % 2, "truth": n // 2 % 2})

    return score


def write(folder: Path) -> list[str]:
    samples = [Sample(input="?", target="!", id=f"q{n}", metadata={"n": n}) for n in range(6)]
    task = Task(dataset=samples, solver=nothing(), scorer=[letters(), rubric()], epochs=2, name="demo")
    return [
        evaluate(task, model="mockllm/model", log_dir=str(folder), log_format=kind, display="none")[
            0
        ].location
        for kind in ("eval", "json")
    ]


if __name__ == "__main__":
    print(*write(Path(sys.argv[1])), sep="\n")
