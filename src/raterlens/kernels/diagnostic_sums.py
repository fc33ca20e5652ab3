"""Sums over all ratings that diagnostics are made of, for large data.

Each goes over the ratings once and keeps nothing of the length of the ratings: most of what readable code takes is
making room for numbers that are summed at once. The readable twins stand with their callers.
"""

import numpy as np

from raterlens.kernels.compiling import compiled

_FAST = ("contract", "reassoc", "nsz")


@compiled(*_FAST)
def add_successive(ratings, levels, sums):  # type: ignore[no-untyped-def]
    """(looks, 3, raters): see `rater_effects._successive`."""
    rater, item, score, pair = ratings
    level, n_items, centre, rest = levels
    n = len(centre)
    mean, count = np.zeros((n, 2)), np.zeros(n)
    for i in range(len(rater)):
        r = rater[i]
        value = score[i] - level[r * n_items + item[i]]
        mean[r, 0] += value
        mean[r, 1] += value * np.sign(rest[pair[i]] - centre[r])
        count[r] += 1
    for r in range(n):
        mean[r, 0] /= max(count[r], 1)
        mean[r, 1] /= max(count[r], 1)
    # The last values of each rater, and of each rater on each item.
    last, last_on = np.full((n, 2), np.nan), np.full((n * n_items, 2), np.nan)
    for i in range(len(rater)):
        r = rater[i]
        on = r * n_items + item[i]
        value = score[i] - level[on]
        for way in range(2):
            x = value - mean[r, way]
            if way == 1:
                x = value * np.sign(rest[pair[i]] - centre[r]) - mean[r, way]
            for look, before in ((2 * way, last[r, way]), (2 * way + 1, last_on[on, way])):
                if not np.isnan(before):
                    sums[look, 0, r] += before * x
                    sums[look, 1, r] += (before * before + x * x) / 2
                    sums[look, 2, r] += 1
            last[r, way] = last_on[on, way] = x


@compiled(*_FAST)
def add_level_sums(pairs, groups, of_rating, abilities, found):  # type: ignore[no-untyped-def]
    """(rater x levels, 9) and (raters, 4): see `interactions.Sums`."""
    rater, judged, score_of_pair, tilt_of_pair = pairs
    first, order, level, n_levels = groups
    given, expected, score, tilt, information = of_rating
    mean, sd = abilities
    of_cell, of_rater = found
    # Of the pair's ratings on each level; which levels it has.
    lean_part, score_part, has = np.zeros(n_levels), np.zeros(n_levels), np.zeros(n_levels, np.bool_)
    levels = np.empty(n_levels, np.int64)
    for p in range(len(rater)):
        theta, of_width = mean[judged[p]], 1 / max(sd[judged[p]] ** 2, 1e-12)
        whole = of_rater[rater[p]]
        n = 0
        for i in range(first[p], first[p + 1]):
            at = order[i]
            here, info = level[at], information[at]
            if not has[here]:
                has[here], levels[n] = True, here
                n += 1
            lean_part[here] += tilt[at] - theta * score[at]
            score_part[here] += score[at]
            of = of_cell[rater[p] * n_levels + here]
            of[0] += 1
            of[1] += given[at]
            of[2] += expected[at]
            of[3] += score[at]
            of[4] += info
            of[5] += info
            of[6] += info * theta
            whole[0] += info
            whole[1] += info * theta
            whole[2] += info * theta * theta
        lean = tilt_of_pair[p] - theta * score_of_pair[p]
        for j in range(n):
            here = levels[j]
            of = of_cell[rater[p] * n_levels + here]
            missing = lean_part[here] * lean * of_width
            of[4] -= lean_part[here] ** 2 * of_width
            of[5] -= missing
            of[6] -= missing * theta
            of[7] += score_part[here] ** 2
            of[8] += score_part[here] * score_of_pair[p]
            lean_part[here], score_part[here], has[here] = 0.0, 0.0, False
        lost = lean * lean * of_width
        whole[0] -= lost
        whole[1] -= lost * theta
        whole[2] -= lost * theta * theta
        whole[3] += score_of_pair[p] ** 2


@compiled(*_FAST)
def add_step_sums(codes, of_rating, known, sums):  # type: ignore[no-untyped-def]
    """(cells, 5): see `change._sums`."""
    rater, judged, cell, stretch = codes
    score, tilt, information = of_rating
    slopes, mean, common = known
    for i in range(len(cell)):
        of, info, theta = sums[cell[i]], information[i], mean[judged[i]]
        taken = info * slopes[rater[i]] * (common[0, stretch[i]] + common[1, stretch[i]] * theta)
        of[0] += info
        of[1] += info * theta
        of[2] += info * theta * theta
        of[3] += score[i] - taken
        of[4] += tilt[i] - theta * taken
