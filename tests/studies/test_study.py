"""Replications and the studies they belong to."""

import numpy as np
import pytest

from raterlens.base.errors import OptionError
from raterlens.studies.study import Task, get_study


def test_replications_have_independent_streams():
    draws = {np.random.default_rng(Task(1, index).entropy).random() for index in range(50)}
    assert len(draws) == 50
    assert Task(1, 2).entropy != Task(2, 1).entropy


def test_an_unknown_study_is_answered_by_those_there_are():
    with pytest.raises(OptionError, match=r"unknown study 'nois'; did you mean 'noise'\?"):
        get_study("nois")
