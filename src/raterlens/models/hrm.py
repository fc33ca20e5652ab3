"""The hierarchical rater model (DeCarlo) and that of Dawid and Skene (1979), which is the same without ability.

`signal_detection.py` has the mathematics.
"""

from raterlens.models.spec import LatentClassSpec

HRM = LatentClassSpec(
    "hrm",
    "hierarchical rater model",
    "each piece of work is truly a pass or a fail, depending on ability, and raters detect which",
    ability=True,
)
DAWID_SKENE = LatentClassSpec(
    "dawid-skene",
    "Dawid-Skene model",
    "each piece of work is truly a pass or a fail, and raters err at rates of their own",
    ability=False,
)
