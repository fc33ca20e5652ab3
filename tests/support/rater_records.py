"""Findings about a rater made by hand."""

from typing import Any

from raterlens.diagnostics.findings import (
    BLUNT,
    Fault,
    Interval,
    RaterFindings,
    halo_verdict,
    sharpness_verdict,
    standard_verdict,
)

GOOD, USUAL = Interval(0.8, 0.75, 0.85), Interval(0.5, 0.45, 0.55)


def record(
    sharpness: Interval = GOOD,
    passes: Interval = USUAL,
    *,
    n: int = 300,
    halo: Interval | None = None,
    constant: str = "",
    **others: Any,
) -> RaterFindings:
    """A rater with these numbers, judged by them; a fault costs 0.2 for severity, 0.1 for the others."""
    standard = standard_verdict(n, passes)
    sharp = sharpness_verdict(n, sharpness, constant)
    said = halo_verdict(n, halo)
    losses: dict[Fault, float] = {
        "severity": 0.2 * (standard not in ("unclear", "typical")),
        "discrimination": 0.1 * (sharp in BLUNT),
        "halo": 0.1 * (said in ("some", "strong")),
    }
    given: dict[str, Any] = {
        "rater": "AM",
        "kappa": sharpness,
        "best_severity": 0.0,
        "best_kappa": 0.9,
        "accuracy": None,
        "ordered": False,
    }
    return RaterFindings(
        **given | others,
        n=n,
        sharpness=sharpness,
        passes=passes,
        halo=halo,
        standard=standard,
        sharpness_verdict=sharp,
        halo_verdict=said,
        losses=losses,
        constant=constant,
    )
