"""When compiling pays: the one rule by which readable code gives way to its compiled twin.

Loading compiled functions takes about a second (compiling them, once per machine, several). NumPy goes over about
6e7 numbers in what compiled code then saves; so that is the break-even, and callers say how many numbers they have.
"""

NUMBERS = 60_000_000
# Where they are loaded already: what arranging the data for them takes.
_NUMBERS_LOADED = 3_000_000


def compiling_pays(numbers: float, *, loaded: bool = False) -> bool:
    """Whether going over this many numbers (rows x nodes x passes, roughly) is worth loading compiled code for."""
    return numbers >= (_NUMBERS_LOADED if loaded else NUMBERS)
