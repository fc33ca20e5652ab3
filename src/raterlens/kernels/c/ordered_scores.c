/* Tables of ordered scores through the logit, on nodes of ability; steps are the scores above 0. */

#include "kernels.h"

/* Exponents below which no product of powers leaves the range of doubles. */
static const double SAFE = 300.0;

INLINE double furthest_of(const double *restrict points, int64_t size) {
    double furthest = 0.0;
    for (int64_t q = 0; q < size; q++)
        furthest = larger(fabs(points[q]), furthest);
    return furthest;
}

/* exp(a t), and after it exp(-a t), a row each; returns whether they stay in range. */
INLINE int odds_of(double a, const double *restrict points, int64_t size, double *restrict odds) {
    if (!(fabs(a) * furthest_of(points, size) < SAFE))
        return 0;
    for (int64_t q = 0; q < size; q++)
        odds[q] = a * points[q];
    KERNEL(exponentials)(odds, size, 0.0);
    for (int64_t q = 0; q < size; q++)
        odds[size + q] = 1.0 / odds[q];
    return 1;
}

/* small <- exp(-|a t + e|), but no less than exp(-far): from the odds where they and exp(e) are in range. */
INLINE void falls_of(
    double a, double e, const double *restrict points, int64_t size, double far, int usable,
    const double *restrict odds, double *restrict small
) {
    if (usable && fabs(e) < SAFE) {
        double factor = exp(e), inverse = 1.0 / factor;
        for (int64_t q = 0; q < size; q++) {
            double up = factor * odds[q], down = inverse * odds[size + q];
            small[q] = a * points[q] + e > 0.0 ? down : up;
        }
        return;
    }
    for (int64_t q = 0; q < size; q++)
        small[q] = -fabs(a * points[q] + e);
    for (int64_t q = 0; q < size; q++)
        small[q] = larger(small[q], -far);
    KERNEL(exponentials)(small, size, 0.0);
}

/* Graded scores, (contexts, steps + 1, nodes): log P(y = k). Between two steps u and l it is
   log F(u) + log(1 - F(l)) + log(1 - exp(l - u)), whose last term, `apart` (contexts, steps - 1), is the same at every
   ability. `scratch` is for three rows of nodes. */
EXPORT void KERNEL(graded_log_prob)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict intercepts,
    const double *restrict apart, int64_t steps, const double *restrict points, int64_t size, double far,
    double *restrict scratch, double *restrict out
) {
    double *restrict small = scratch, *restrict odds = scratch + size;
    for (int64_t c = first; c < last; c++) {
        double a = slope[c];
        int usable = odds_of(a, points, size, odds);
        for (int64_t k = 0; k < steps; k++) {
            double e = intercepts[c * steps + k];
            double beyond = k + 1 < steps ? apart[c * (steps - 1) + k] : 0.0;
            double *restrict below = out + (c * (steps + 1) + k) * size, *restrict reached = below + size;
            falls_of(a, e, points, size, far, usable, odds, small);
            for (int64_t q = 0; q < size; q++) {
                double s = a * points[q] + e, rest = log_one_more(small[q]);
                double fails = -larger(s, 0.0) - rest, passes = -larger(-s, 0.0) - rest;
                below[q] = k ? below[q] + fails : fails;
                reached[q] = passes + beyond;
            }
        }
    }
}

/* Graded scores of one context, (steps + 1, nodes) twice: the density at a score's own step, and at the next, over the
   score's probability: f = F (1 - F), and no logarithms. `apart`: 1 / (1 - exp(l - u)). `far`: how small 1 - F may become.
   `scratch` is for 2 steps + 2 rows of nodes. */
INLINE void ratios_of(
    double a, const double *restrict intercepts, const double *restrict apart, int64_t steps,
    const double *restrict points, int64_t size, double far, double *restrict scratch, double *restrict own,
    double *restrict next
) {
    double *restrict pass = scratch, *restrict fail = pass + steps * size, *restrict odds = fail + steps * size;
    int usable = odds_of(a, points, size, odds);
    for (int64_t k = 0; k < steps; k++) {
        double e = intercepts[k];
        double *restrict above = pass + k * size, *restrict below = fail + k * size;
        falls_of(a, e, points, size, far, usable, odds, below);
        for (int64_t q = 0; q < size; q++) {
            double small = below[q], inverse = 1.0 / (1.0 + small);
            int passed = a * points[q] + e > 0.0;
            above[q] = (passed ? 1.0 : small) * inverse;
            below[q] = (passed ? small : 1.0) * inverse;
        }
    }
    for (int64_t q = 0; q < size; q++) {
        own[q] = next[steps * size + q] = 0.0;
        own[steps * size + q] = fail[(steps - 1) * size + q];
        next[q] = pass[q];
    }
    for (int64_t k = 1; k < steps; k++)
        for (int64_t q = 0; q < size; q++) {
            own[k * size + q] = apart[k - 1] * fail[(k - 1) * size + q] / fail[k * size + q];
            next[k * size + q] = apart[k - 1] * pass[k * size + q] / pass[(k - 1) * size + q];
        }
}

/* The same of contexts, (contexts, steps + 1, nodes) twice. */
EXPORT void KERNEL(graded_ratios)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict intercepts,
    const double *restrict apart, int64_t steps, const double *restrict points, int64_t size, double far,
    double *restrict scratch, double *restrict up, double *restrict down
) {
    for (int64_t c = first; c < last; c++) {
        int64_t at = c * (steps + 1) * size;
        ratios_of(
            slope[c], intercepts + c * steps, apart + c * (steps - 1), steps, points, size, far, scratch,
            up + at, down + at
        );
    }
}

/* Derivatives of counted log-probabilities, for counts (contexts, steps + 1, nodes): (contexts,) in the slopes, and (contexts,
   steps) in the intercepts. `scratch` is for 4 steps + 4 rows of nodes. */
EXPORT void KERNEL(graded_sums)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict intercepts,
    const double *restrict apart, int64_t steps, const double *restrict points, int64_t size, double far,
    double *restrict scratch, const double *restrict counts, double *restrict by_slope, double *restrict by_intercept
) {
    double *restrict own = scratch + (2 * steps + 2) * size, *restrict next = own + (steps + 1) * size;
    for (int64_t c = first; c < last; c++) {
        ratios_of(
            slope[c], intercepts + c * steps, apart + c * (steps - 1), steps, points, size, far, scratch, own,
            next
        );
        const double *restrict given = counts + c * (steps + 1) * size;
        double of_slope = 0.0;
        for (int64_t k = 0; k < steps; k++) {
            double total = 0.0, at_nodes = 0.0;
            for (int64_t q = 0; q < size; q++) {
                int64_t below = k * size + q, above = below + size;
                double score = given[above] * own[above] - given[below] * next[below];
                total += score;
                at_nodes += score * points[q];
            }
            by_intercept[c * steps + k] = total;
            of_slope += at_nodes;
        }
        by_slope[c] = of_slope;
    }
}

/* Their second derivatives: (contexts,) in the slope twice, (contexts, steps) in it and an intercept, in an intercept twice,
   and (contexts, steps - 1) in it and the next. `scratch` as before. */
EXPORT void KERNEL(graded_bends)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict intercepts,
    const double *restrict apart, int64_t steps, const double *restrict points, int64_t size, double far,
    double *restrict scratch, const double *restrict counts, double *restrict by_slope, double *restrict mixed,
    double *restrict twice, double *restrict beside
) {
    const double *restrict pass = scratch, *restrict fail = pass + steps * size;
    double *restrict own = scratch + (2 * steps + 2) * size, *restrict next = own + (steps + 1) * size;
    for (int64_t c = first; c < last; c++) {
        ratios_of(
            slope[c], intercepts + c * steps, apart + c * (steps - 1), steps, points, size, far, scratch, own,
            next
        );
        const double *restrict given = counts + c * (steps + 1) * size;
        double of_slope = 0.0;
        for (int64_t k = 0; k < steps; k++) {
            double total = 0.0, at_nodes = 0.0, at_squares = 0.0, with_next = 0.0;
            for (int64_t q = 0; q < size; q++) {
                int64_t below = k * size + q, above = below + size;
                double up = own[above], down = next[below], tilt = fail[below] - pass[below];
                /* Where all steps move together, their distances do not matter. */
                double both = -pass[below] * fail[below] * (given[above] + given[below]) * points[q];
                total += given[above] * up * (tilt - up) - given[below] * down * (tilt + down);
                with_next += given[above] * up * next[above];
                at_nodes += both;
                at_squares += both * points[q];
            }
            twice[c * steps + k] = total;
            mixed[c * steps + k] = at_nodes;
            of_slope += at_squares;
            if (k + 1 < steps)
                beside[c * (steps - 1) + k] = with_next;
        }
        by_slope[c] = of_slope;
    }
}

/* Adjacent categories of one context: (steps, nodes) exp(k a t + e_k - top), `total`, a row, their sum with that of k = 0, and
   `top`, another. Powers of exp(a t) wherever they stay in range, so that one exponential does for all. `scratch` is for a
   row and a number per step. */
INLINE void categories_of(
    double a, const double *restrict intercepts, int64_t steps, const double *restrict points, int64_t size,
    double *restrict scratch, double *restrict small, double *restrict total, double *restrict top
) {
    double most = 0.0, furthest = furthest_of(points, size);
    for (int64_t k = 0; k < steps; k++)
        most = larger(intercepts[k], most);
    if (most + (double)steps * fabs(a) * furthest < SAFE) {
        double *restrict odds = scratch, *restrict factor = scratch + size, *restrict power = top;
        for (int64_t k = 0; k < steps; k++)
            factor[k] = intercepts[k];
        KERNEL(exponentials)(factor, steps, 0.0);
        for (int64_t q = 0; q < size; q++)
            odds[q] = a * points[q];
        KERNEL(exponentials)(odds, size, 0.0);
        for (int64_t q = 0; q < size; q++)
            power[q] = total[q] = 1.0;
        for (int64_t k = 0; k < steps; k++) {
            double own = factor[k];
            for (int64_t q = 0; q < size; q++) {
                power[q] *= odds[q];
                small[k * size + q] = own * power[q];
                total[q] += small[k * size + q];
            }
        }
        for (int64_t q = 0; q < size; q++)
            top[q] = 0.0;
        return;
    }
    for (int64_t q = 0; q < size; q++)
        top[q] = 0.0;
    for (int64_t k = 0; k < steps; k++) {
        double e = intercepts[k], lever = (double)(k + 1) * a;
        for (int64_t q = 0; q < size; q++) {
            small[k * size + q] = lever * points[q] + e;
            top[q] = larger(top[q], small[k * size + q]);
        }
    }
    for (int64_t q = 0; q < size; q++)
        total[q] = -top[q];
    KERNEL(exponentials)(total, size, 0.0);
    for (int64_t k = 0; k < steps; k++) {
        for (int64_t q = 0; q < size; q++)
            small[k * size + q] -= top[q];
        KERNEL(exponentials)(small + k * size, size, 0.0);
        for (int64_t q = 0; q < size; q++)
            total[q] += small[k * size + q];
    }
}

/* Adjacent categories: (contexts, steps, nodes) P(y = k), null where not asked for, and (contexts, nodes) the logarithm of
   what they are divided by, 1 + sum_k exp(k a t + e_k). `scratch` is for steps + 3 rows of nodes and a number per step. */
EXPORT void KERNEL(adjacent)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict intercepts, int64_t steps,
    const double *restrict points, int64_t size, double *restrict scratch, double *restrict probabilities,
    double *restrict partition
) {
    double *restrict small = scratch, *restrict total = small + steps * size, *restrict top = total + size;
    for (int64_t c = first; c < last; c++) {
        double *restrict log_total = partition + c * size;
        categories_of(slope[c], intercepts + c * steps, steps, points, size, top + size, small, total, top);
        for (int64_t q = 0; q < size; q++)
            log_total[q] = total[q];
        KERNEL(logarithms)(log_total, size);
        for (int64_t q = 0; q < size; q++)
            log_total[q] += top[q];
        if (probabilities)
            for (int64_t k = 0; k < steps; k++)
                for (int64_t q = 0; q < size; q++)
                    probabilities[(c * steps + k) * size + q] = small[k * size + q] / total[q];
    }
}

/* How often each score above 0 is expected of ratings, counted at nodes (contexts, nodes): (contexts, steps); and (contexts,)
   the sum of scores times ability. Scratch as above. */
EXPORT void KERNEL(adjacent_sums)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict intercepts, int64_t steps,
    const double *restrict points, int64_t size, double *restrict scratch, const double *restrict counts,
    double *restrict by_ability, double *restrict given
) {
    double *restrict small = scratch, *restrict total = small + steps * size, *restrict top = total + size;
    for (int64_t c = first; c < last; c++) {
        categories_of(slope[c], intercepts + c * steps, steps, points, size, top + size, small, total, top);
        for (int64_t q = 0; q < size; q++)
            total[q] = counts[c * size + q] / total[q];
        by_ability[c] = 0.0;
        for (int64_t k = 0; k < steps; k++) {
            double often = 0.0, at_nodes = 0.0;
            for (int64_t q = 0; q < size; q++) {
                double each = small[k * size + q] * total[q];
                often += each;
                at_nodes += each * points[q];
            }
            given[c * steps + k] = often;
            by_ability[c] += (double)(k + 1) * at_nodes;
        }
    }
}
