"""Do small and odd panels still give the numbers that were recorded? `python -m benchmarks.truth.recorded_designs`.

200 random designs: 2 to 8 raters, gaps, raters who only pass or fail, panels that share nobody, pass/fail and ordered
scores, with all models, priors, scales and links in turn. Their estimates, errors and intervals are in
`recorded_designs.json.gz`. The command says which numbers moved by more than `TOLERANCE` and exits with 1 if any did;
after an intended change, `python -m benchmarks.truth.recorded_designs record` writes them anew.

Some likelihoods are so flat that rounding decides: a severity that next to nothing is known of, or its standard error.
With OpenBLAS's code for processors with AVX-512 (`SkylakeX`), designs 72, 86, 130, 170 and 193 give other numbers than
with that for processors without. So the numbers are those of `CORE`, whichever processor there is.

Why numbers moved, latest first, where it is not one option's meaning that changed (the changelog says that):

- 18, 39, 44, 78, 138, 159 (raters as a sample): the average over spreads included some whose quadratic is all but flat
  some way; its mean was far from the mode, where the posterior is lower.
- 32, 33, 71, 126, 146, 169, 171, 173 (slopes of 1e-9 to 1e-6): their intervals are those of slopes at 0, to which
  they lead continuously; so is a limit in 150, whose slope of a few millionths counted as one that had left 0.
- 95, 135, 194, lower ends of sharpness (.009 -> .011 and the like): draws more than 40 logits out. How fast a cloglog
  curve rises there keeps the value of the last node, as how often scores are given does, where it fell to 0.
- 25, 38, 85, 144, 178 (raters as a sample, all slopes estimated as 0): slopes of a sample may be negative, so 0 is
  no bound of theirs, and intervals of kappa and sharpness no longer begin there.
- 135, a student's error .7236 -> .7257 at the same estimates (14 digits): the information says next to nothing of a
  rater (error of its severity 7.5), and a compiled pass no longer leaves out 1e-17 of a posterior.
- 5, 18, 39, 44, 58, 78, 84, 125, 158, 159 (raters as a sample): modes at each spread are found to 1e-5 standard errors.
  Where the likelihood is flat they were left with gradients of up to .7 per logit, and the likelihood up to 5 too low.
- 117, lower end of sharpness 0 -> .583: a rater of 9 students, whose severity is known to 56 logits. Draws of it are
  so far out that all scores are the same but one in e^57. Sharpness there underflowed to 0 in steps of less than a
  logit; since curves keep the value of their last node beyond it (57b08932), it levels off.
- 86, the error of a rater who tells nobody apart, 3.7 -> 1.78 -> 1.25: raters as a sample beside groups (f60e220b);
  then the processor.
"""

import gzip
import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import raterlens as rl
from benchmarks.truth.small_designs import SmallDesign, drawn

RECORDED = Path(__file__).parent / "recorded_designs.json.gz"
DESIGNS = 200
# Of a number, or of 1 where it is smaller. Optimisers stop within 3e-6 standard errors, and intervals of nearly flat
# likelihoods multiply what is left.
TOLERANCE = 2e-3
# A standard error beyond this says that nothing is known; how far beyond depends on the processor's rounding.
UNKNOWN = 100.0
# Of the processor, to OpenBLAS: every one of x86-64 that runs the tests has its instructions.
CORE = {"OPENBLAS_CORETYPE": "Haswell"}
COLUMNS = ("rho", "eta", "kappa", "sharpness")
ENDS = ("", "_se", "_low", "_high")
WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"model": "tfm"},
    {"prior": "panel"},
    {"model": "probit"},
    {"halo": "common", "starts": 1},
    {"reference": "perfect"},
    {"scale": "partial credit"},
    {"scale": "graded", "link": "cloglog"},
    {"item_slopes": True, "starts": 1},
    {"allow_reversed": True, "prior": "panel"},
)


def design(number: int) -> tuple[SmallDesign, dict[str, Any]]:
    """Ratings, and the options of their fit; every other design has ordered scores."""
    ordered, options = number % 2 == 1, WAYS[number // 2 % len(WAYS)]
    if ordered and options.get("model") == "probit":
        options = {"link": "probit", "scale": "graded"}
    return drawn(number, ordered=ordered, most_raters=8), options


def found(number: int) -> dict[str, Any]:
    """Log-likelihood, raters, difficulties and the first students of a fit; what cannot be fitted says why."""
    made, options = design(number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = rl.fit(
                made.frame(),
                student="student",
                rater="rater",
                item="item",
                score="score",
                **{"model": "gmf"} | options,
            )
        except rl.RaterlensError as error:
            return {"refused": str(error)}
    raters, students = fit.table("raters"), fit.table("students").head(4)
    rows = {
        name + end: raters[name + end].to_list() for name in COLUMNS for end in ENDS if name + end in raters
    }
    rows |= {name: students[name].to_list() for name in ("theta", "theta_se")}
    rows |= {name: fit.table("items")[name].to_list() for name in ("delta", "delta_se")}
    rows = {"loglik": [fit.loglik], **rows}
    return {name: [_short(value) for value in values] for name, values in rows.items()}


def _short(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def moved(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Names of what differs, with both numbers."""
    if old.keys() != new.keys() or "refused" in old:
        return [] if old == new else [f"{old.get('refused', 'a fit')} -> {new.get('refused', 'a fit')}"]
    said = []
    for name, values in old.items():
        for place, (before, now) in enumerate(zip(values, new[name], strict=True)):
            same = before == now if None in (before, now) else _close(before, now)
            same |= name.endswith("_se") and min(before or 0, now or 0) > UNKNOWN
            said += [] if same else [f"{name}[{place}] {before} -> {now}"]
    return said


def _close(before: float, now: float) -> bool:
    return abs(before - now) <= TOLERANCE * max(1.0, abs(before))


def recorded() -> list[dict[str, Any]]:
    return list(json.loads(gzip.decompress(RECORDED.read_bytes())))


def main() -> int:
    if os.environ | CORE != os.environ:  # read when NumPy is loaded
        command = [sys.executable, "-m", "benchmarks.truth.recorded_designs", *sys.argv[1:]]
        return subprocess.run(command, env=os.environ | CORE).returncode
    if sys.argv[1:] == ["record"]:
        text = json.dumps([found(number) for number in range(DESIGNS)], separators=(",", ":"))
        RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"wrote {RECORDED}, {RECORDED.stat().st_size / 1000:.0f} kB")
        return 0
    many = 0
    for number, old in enumerate(recorded()):
        if said := moved(old, found(number)):
            many += 1
            print(
                f"design {number} {design(number)[1]}: {len(said)} numbers, {'; '.join(said[:6])}", flush=True
            )
    print(f"{many} of {DESIGNS} designs moved")
    return int(many > 0)


if __name__ == "__main__":
    raise SystemExit(main())
