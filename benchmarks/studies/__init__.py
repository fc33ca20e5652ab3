"""Evidence for what the package does by default: studies with known truth.

`python -m benchmarks.studies NAME --out DIR` runs one, as `raterlens study` runs the paper's.
"""

STUDIES = {
    "abilities": "skewed and normal abilities, taken for normal or with their shape estimated",
    "calibration": "do intervals cover? coverage and width of each kind, and the bias of each estimator",
    "dependence": "coverage of intervals where the scores of a reading share more than ability",
    "misspecified": "capability when the fitted model is not the one behind the ratings",
    "passrates": "shares of good answers where people err: coverage, beside corrections that take people for truth",
    "pieces": "several pieces of work per student: what differs between them, apart from the raters",
    "priors": "raters judged alone or as a sample of raters: error, ranks and coverage on small panels",
    "ratings": "bias of the three methods as ratings per student fall from 800 to 5",
    "recovery": "every model and link: bias, and error against sample size",
    "replacement": "how often a judge is said to be as good as a person, at the margin and above it",
}
"""Each is `STUDY` in the module of its name."""


def opening(name: str, replications: int) -> str:
    """The command that writes a page."""
    return f"`python -m benchmarks.studies {name} --replications {replications} --out DIR` wrote this page."
