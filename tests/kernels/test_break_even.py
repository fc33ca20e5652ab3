from raterlens.kernels.break_even import NUMBERS, compiling_pays


def test_compiling_pays_from_the_break_even_on():
    assert not compiling_pays(NUMBERS - 1)
    assert compiling_pays(NUMBERS)


def test_what_is_loaded_has_been_paid_for():
    assert compiling_pays(NUMBERS / 10, loaded=True)
    assert not compiling_pays(NUMBERS / 100, loaded=True)
