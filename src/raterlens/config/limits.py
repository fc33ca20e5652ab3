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
"""Ratings up to which `assumptions="adapt"` adds terms. A fit with spreads costs several times a plain one, some half
a dozen inversions of the information; and the more ratings per rater, the less the terms change."""
ADAPTED_PARAMETERS = 1_000
"""Thresholds of raters, or cells of raters and items, up to which `adapt` adds them: their information is a matrix,
inverted half a dozen times."""
ADAPTED_SETS, STUDENTS_PER_SET = 200, 4
"""Sets of raters up to which `adapt` has means for the students of each, and the fewest students per set on average:
the spread of the means is told from that of abilities by students of the same set."""
CONFIRMED_RATINGS = 10_000
"""Ratings up to which a warning about an assumption is confirmed by the likelihood ratio: with few students the score
tests say "clear" too often, and another fit is quick."""
TESTED_STUDENTS = 50
"""Students from which on assumptions are tested: a likelihood ratio of fewer is not what chi-squared says of it."""
TESTED_RATINGS, TESTED_PARAMETERS = 30_000, 2_000
"""Ratings beyond which assumptions are tested on those of some students, drawn at random: what is clear from fewer; and
parameters of a fit up to which it is tested, since students' scores are projected on those of all parameters, for which
there have to be twice as many students."""

COMPARED_ITEMS = 3, 20
"""Items from which on, and up to which, every two are looked at for what they share besides ability: a pair is compared
with the others, and the test allows for how many there are."""

SCORE_CATEGORIES = 20
"""Different scores up to which each is a category, unless a scale is given: with more, most thresholds rest on next to
no ratings, and marks are taken for continuous."""
STARTED_RATINGS = 3_000
"""Ratings up to which a fit has several starting points. With more, second maxima were not seen, and other starts would
cost more than they find."""
AGREEING_STARTS, FEW_RATINGS = 3, 300
"""Starts that end at the best maximum are enough when this many agree; but not with so few ratings that most starts may
end at the same lower maximum. There each start costs milliseconds, and all are made."""
SHAPED_RATINGS = 10_000
"""Ratings up to which smooth abilities begin from several shapes: skewed either way, and two peaks."""
COMPARED_RATINGS = 100_000
"""Ratings of a sample of students on which starts of models with a true category are compared."""
LATENT_PARAMETERS = 5_000
"""Parameters of a model with a true category up to which it has Newton steps and standard errors: a dense matrix of
this many takes 200 MB and seconds."""
PROFILED_PARAMETERS = 1_500
"""Parameters up to which likelihoods are profiled: beyond, the dense steps of the constrained search take too long."""
THETA_ERROR_RATINGS = 100_000
"""Ratings up to which errors of abilities include those of raters and items. With more, raters usually have enough of
them that it is next to nothing."""
SPREAD_RATERS, SPREAD_RATINGS = 50, 50_000
"""Raters and ratings up to which intervals under a panel prior average over the uncertain spreads: in larger panels it
matters little and costs much."""
SLOPE_LIMIT_WORK = 30_000
"""Raters times ratings up to which intervals of slopes that ran to a limit come from profile likelihood: with more
ratings hardly any slope does."""
SPARSE_PARAMETERS, SPARSE_SHARE = 500, 0.05
"""Parameters up to which the information is inverted in full where spreads are estimated: of more, sparse factors take
less time, unless more than this share of it is not 0."""
INTERACTION_CELLS = 3_000
"""Cells of an interaction up to which it is estimated: their information is a matrix, inverted half a dozen times."""
