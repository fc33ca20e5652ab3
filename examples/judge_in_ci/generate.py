"""Simulated verdicts of four LLM judges on answers of three systems, as JSON lines: python generate.py verdicts.jsonl

No model was called and no person asked. An answer is good or not; judges are right at known rates (`JUDGES`), and two
of them are impressed by long answers, good or not. Experts have labelled 60 of the 240 answers, drawn at random.
"""

import json
import sys
from pathlib import Path

import numpy as np

ANSWERS, LABELLED = 80, 60
SYSTEMS = {"baseline": 0.55, "candidate": 0.7, "distilled": 0.6}
"""Share of good answers."""
JUDGES = {
    "large": (0.92, 0.90, 0.0),
    "large-strict": (0.70, 0.97, 0.0),
    "small": (0.80, 0.65, 1.6),
    "mini": (0.65, 0.50, 1.6),
}
"""Share of good answers passed, share of bad ones failed, and how much length impresses (in logits)."""


def logit(share: float) -> float:
    return float(np.log(share / (1 - share)))


def verdicts(seed: int = 7) -> list[dict[str, object]]:
    """One record per verdict."""
    rng = np.random.default_rng(seed)
    system = np.repeat(list(SYSTEMS), ANSWERS)
    good = rng.random(len(system)) < np.array([SYSTEMS[name] for name in system])
    length = rng.normal(size=len(system))
    labelled = rng.permutation(len(system)) < LABELLED
    records: list[dict[str, object]] = []
    for judge, (sensitivity, specificity, fondness) in JUDGES.items():
        seen = np.where(good, logit(sensitivity), -logit(specificity)) + fondness * length
        passes = rng.random(len(system)) < 1 / (1 + np.exp(-seen))
        for k in range(len(system)):
            label = {"human_label": int(good[k])} if labelled[k] else {"human_label": None}
            records.append(
                {"answer": f"{system[k]}-{k % ANSWERS:02}", "system": str(system[k]), "judge": judge}
                | {"verdict": int(passes[k])}
                | label
            )
    return records


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "verdicts.jsonl")
    path.write_text("".join(json.dumps(record) + "\n" for record in verdicts()), encoding="utf-8")
    print(f"{path}: simulated verdicts of {len(JUDGES)} judges on {len(SYSTEMS) * ANSWERS} answers")
