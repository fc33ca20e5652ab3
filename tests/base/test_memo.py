import gc
import weakref

import raterlens as rl
from raterlens.base.memo import kept_with


class Owner:
    pass


def test_it_is_made_once_per_owner_and_key():
    one, two, answers = Owner(), Owner(), iter(range(9))
    asked = [(one, "a"), (one, "a"), (one, "b"), (two, "a"), (one, "a")]
    assert [kept_with(owner, key, lambda: next(answers)) for owner, key in asked] == [0, 0, 1, 2, 0]


def test_it_goes_with_its_owner():
    owner = Owner()
    gone = weakref.ref(kept_with(owner, "a", Owner))
    assert gone() is not None
    del owner
    gc.collect()
    assert gone() is None


def test_a_fit_takes_what_is_kept_along(small):
    fit = rl.fit(small, model="gmf")
    assert fit.verdicts() is not None
    gone = weakref.ref(fit)
    del fit
    gc.collect()
    assert gone() is None
