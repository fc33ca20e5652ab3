"""Ratings in the order of their students, shared out over threads by whole students."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from raterlens.base.threads import spans


def student_spans(student: NDArray[np.int32]) -> list[tuple[int, int]]:
    """Consecutive stretches of rows, one per thread, none of which ends within a student.

    Students need not be in order, but kernels have to look whether they are: a search by halves ends between a smaller
    student and one that is not, so stretches that are in order each are in order together.
    """
    ends = [int(np.searchsorted(student, student[stop])) for _, stop in spans(len(student))[:-1]]
    return list(pairwise(sorted({0, *ends, len(student)})))
