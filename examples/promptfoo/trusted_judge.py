"""An assertion for promptfoo: the judge that grades this test can be trusted.

`raterlens judge verdicts.jsonl --known human_label --save judges.json` measures the judges. In promptfooconfig.yaml,

    assert:
      - type: python
        value: file://trusted_judge.py
        config: {judge: large, file: judges.json}

fails where the judge is not trusted. One that is not certain passes, with its interval as the reason.
"""

import json
from pathlib import Path
from typing import Any


def get_assert(output: str, context: dict[str, Any]) -> dict[str, Any]:
    """Look up the judge's verdict; the score is the lower end of its capability's interval."""
    config = context["config"]
    judges = json.loads(Path(config.get("file", "judges.json")).read_text(encoding="utf-8"))["judges"]
    found = next((row for row in judges if row["judge"] == config["judge"]), None)
    if found is None:
        return {"pass": False, "score": 0.0, "reason": f"{config['judge']} has not been measured"}
    ends = f"{found['capability_low']:.2f} to {found['capability_high']:.2f}"
    return {
        "pass": found["verdict"] not in ("not trusted", "contradicted"),
        "score": max(found["capability_low"], 0.0),
        "reason": f"{found['judge']}: capability {found['capability']:.2f} ({ends}), {found['verdict']}",
    }
