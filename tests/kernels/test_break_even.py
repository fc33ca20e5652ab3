from raterlens.kernels.break_even import NUMBERS, compiling_pays


def test_compiling_pays_from_the_break_even_on():
    assert not compiling_pays(NUMBERS - 1)
    assert compiling_pays(NUMBERS)
