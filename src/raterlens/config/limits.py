"""Sizes that change what is computed, or from which on a file is refused, each with its reason."""

LARGE_FILE = 5_000_000
"""Rows from which on a parquet file is read column by column, and packed chunk by chunk: all its labels as text would
need more memory than the ratings."""
CHUNK = 2**21
"""Rows of such a chunk: some hundred MB."""
IN_MEMORY = 20_000_000
"""Packed ratings up to which they are taken into memory whole, 14 bytes each; diagnostics use a sample of more."""
PART = 2**22
"""Packed ratings of a part: enough to keep compiled code busy, and a few hundred MB while a part is prepared."""
MANY_ROWS = 10_000
"""Rows from which on it pays to look for runs of the same label, or to make a table of numbers."""

FAR_CELLS = 30_000_000
"""Cells up to the last one, blanks included, that any sheet may have: 26 columns of all the rows that Excel knows."""
UNFOLDED, UNFOLDED_TIMES = 64 << 20, 100
"""Bytes that a compressed file may always unfold to, and how many times its size beyond that. Tables of ratings shrink
to a fifth or, where they are very regular, a fiftieth."""
READ_AT_ONCE = 1 << 23
"""Bytes of a text file or parquet file up to which it is read into memory as it is. Larger ones are read in pieces, and
none is mapped: where another program cuts a mapped file short, the system ends the process."""
VIEW_ROWS, VIEW_SECONDS = 1_000_000, 60.0
"""Rows that a view of a database may always have, and else as many as the file has bytes; and seconds without a row."""

ADAPTED_RATINGS = 50_000
"""Ratings up to which `assumptions="adapt"` adds terms. A fit with spreads costs several times a plain one, some thirty
inversions of the information; and the more ratings per rater, the less the terms change."""
ADAPTED_PARAMETERS = 1_000
"""Thresholds of raters, or cells of raters and items, up to which `adapt` adds them: their information is a matrix,
inverted some fifteen times."""
CONFIRMED_RATINGS = 10_000
"""Ratings up to which a warning about an assumption is confirmed by the likelihood ratio: with few students the score
tests say "clear" too often, and another fit is quick."""
TESTED_STUDENTS = 50
"""Students from which on assumptions are tested: a likelihood ratio of fewer is not what chi-squared says of it."""
TESTED_RATINGS, TESTED_PARAMETERS = 30_000, 2_000
"""Ratings beyond which assumptions are tested on those of some students, drawn at random: what is clear from fewer; and
parameters of a fit up to which it is tested, since students' scores are projected on those of all parameters, for which
there have to be twice as many students."""
