"""Which engine for which data: compiled code where it pays for being loaded, readable code everywhere else."""

from scipy import sparse

from raterlens.engine.reference import ReferenceEngine

# Loading (and, the first time, compiling) takes a second or two; from about here on a fit saves more than that.
LARGE = 200_000
"""Nonzero counts: student-rater pairs where ratings collapse to sums, otherwise ratings."""


def engine_for(counts: sparse.csr_array, sums: sparse.csr_array | None = None) -> ReferenceEngine:
    """An engine on these counts and sums; both kinds give the same numbers."""
    if counts.nnz < LARGE:
        return ReferenceEngine(counts, sums)
    from raterlens.engine.fused import FusedEngine

    return FusedEngine(counts, sums)
