import numpy as np

from raterlens.ratings.repeats import occurrence, readings_of

STUDENT, RATER = np.array([0, 0, 0, 0, 1]), np.array([1, 1, 1, 0, 1])


def test_nothing_occurs_again():
    assert occurrence(STUDENT, RATER, np.array([0, 1, 2, 0, 0])) is None
    assert occurrence(*(np.empty(0, dtype=np.int32),) * 3) is None
    which, number = readings_of(STUDENT, RATER, np.array([0, 1, 2, 0, 0]))
    assert number == 3
    assert which.tolist() == [1, 1, 1, 0, 2]


def test_an_item_that_occurs_again_is_of_the_next_reading():
    item = np.array([0, 1, 0, 0, 0])
    assert occurrence(STUDENT, RATER, item).tolist() == [0, 0, 1, 0, 0]
    which, number = readings_of(STUDENT, RATER, item)
    assert number == 4
    assert which[0] == which[1] != which[2]
