"""Whoever waits for the compiler is told, once per function, and not where nothing is compiled."""

import numba as nb

from raterlens.kernels import compiling  # noqa: F401  listens to the compiler
from raterlens.kernels.compiling_notice import told_of_compiling


def test_compiling_is_told_while_somebody_listens() -> None:
    told: list[bool] = []
    doubled, halved = nb.njit(lambda x: 2 * x), nb.njit(lambda x: x / 2)
    with told_of_compiling(told.append):
        assert doubled(2.0) == 4
        assert doubled(3.0) == 6
    assert told == [True, False]
    assert halved(2.0) == 1
    assert told == [True, False]
