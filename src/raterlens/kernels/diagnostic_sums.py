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
def add_context_sums(ratings, of_rating, sums):  # type: ignore[no-untyped-def]
    """(contexts, 17): see `fit_statistics.sums_of_contexts`."""
    context, pair, score, rest = ratings
    squared, variance, standardised, foreseen, foreseen_variance = of_rating
    for i in range(len(context)):
        of = sums[context[i]]
        x, y, m = rest[pair[i]], float(score[i]), foreseen[i]
        infit, outfit = squared[i] - variance[i], standardised[i] - 1
        of[0] += squared[i]
        of[1] += variance[i]
        of[2] += standardised[i]
        of[3] += infit
        of[4] += outfit
        of[5] += infit * infit
        of[6] += outfit * outfit
        of[7] += x
        of[8] += y
        of[9] += m
        of[10] += x * x
        of[11] += y * y
        of[12] += m * m
        of[13] += x * y
        of[14] += x * m
        of[15] += foreseen_variance[i]
        of[16] += 1


@compiled(*_FAST)
def add_unit_sums(units, ratings, count, sums):  # type: ignore[no-untyped-def]
    """(students, sums): see `agreement._of_students`; `count` is scratch for the scores of a unit."""
    first, order = units
    student, score = ratings
    for u in range(len(first) - 1):
        n = float(first[u + 1] - first[u])
        if n < 2:
            continue
        for a in range(len(count)):
            count[a] = 0.0
        for i in range(first[u], first[u + 1]):
            count[score[order[i]]] += 1
        same = total = squares = 0.0
        for a in range(len(count)):
            same += count[a] * (count[a] - 1)
            total += count[a] * a
            squares += count[a] * a * a
        of = sums[student[order[first[u]]]]
        of[0] += 1
        of[1] += n
        of[2] += n * n
        of[3] += n * (n - 1)
        of[4] += same
        of[5] += same / (n * (n - 1))
        of[6] += total
        of[7] += total * total / n
        of[8] += squares - total * total / n
        at = 9
        for a in range(len(count)):
            of[at] += count[a]
            at += 1
        for a in range(len(count)):
            for b in range(a, len(count)):
                of[at] += count[a] * (count[b] - (1.0 if a == b else 0.0)) / (n - 1)
                at += 1


@compiled()
def fill_steps(order, rater, time, first, count, n_steps, cell):  # type: ignore[no-untyped-def]
    """cell <- rater x steps + step: see `change._timeline`."""
    step = 0
    for i in range(len(order)):
        row = order[i]
        r = rater[row]
        # Between equal times the order is arbitrary: they are of one step.
        if i == first[r] or time[row] != time[order[i - 1]]:
            step = (i - first[r]) * n_steps // count[r]
        cell[row] = r * n_steps + step


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
