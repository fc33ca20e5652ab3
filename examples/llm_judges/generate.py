"""Simulated verdicts of people and LLM judges on 300 responses, as JSON lines: python generate.py verdicts.jsonl

No model was called and no person asked. Every verdict is drawn from known parameters, so that an analysis can be held
against the truth: `PEOPLE` and `JUDGES` below.
"""

import json
import sys
from pathlib import Path

import numpy as np

RESPONSES, PEOPLE_A_RESPONSE = 300, 2
CRITERIA = {"accuracy": 0.3, "completeness": 0.6, "tone": -0.9}
# Slope (how sharply quality is seen), severity, and how much length impresses.
PEOPLE = {"Ana": (2.0, 0.1, 0.0), "Ben": (1.7, -0.3, 0.0), "Cho": (1.9, 0.4, 0.0), "Dee": (1.6, -0.1, 0.0)}
JUDGES = {
    ("large", "v1"): (1.8, 0.1, 0.0),
    ("large", "v2"): (1.8, 2.0, 0.0),  # "be strict": the same eye, another line
    ("small", "v1"): (0.9, -0.9, 1.3),
    ("small", "v2"): (1.1, 0.0, 1.3),
    ("mini", "v1"): (0.7, -0.3, 1.3),
}


def verdicts(seed: int = 42) -> list[dict[str, object]]:
    """One record a verdict."""
    rng = np.random.default_rng(seed)
    quality, length = rng.normal(size=(2, RESPONSES))
    people = list(PEOPLE)
    records = []
    for response in range(RESPONSES):
        asked = rng.choice(len(people), PEOPLE_A_RESPONSE, replace=False)
        raters = [(people[n], "human", *PEOPLE[people[n]]) for n in asked]
        raters += [(*judge, *parameters) for judge, parameters in JUDGES.items()]
        for judge, prompt, slope, severity, fondness in raters:
            for criterion, difficulty in CRITERIA.items():
                logit = slope * quality[response] + fondness * length[response] - severity - difficulty
                records.append(
                    {
                        "response": f"r{response:03}",
                        "judge": judge,
                        "prompt": prompt,
                        "criterion": criterion,
                        "pass": bool(rng.random() < 1 / (1 + np.exp(-logit))),
                    }
                )
    return records


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "verdicts.jsonl")
    path.write_text("".join(json.dumps(record) + "\n" for record in verdicts()), encoding="utf-8")
    print(f"{path}: simulated verdicts of {len(PEOPLE)} people and {len(JUDGES)} judges")
