/* Tables of ordered scores through the logit, on nodes of ability; steps are the scores above 0. */

#include "kernels.h"

/* Graded scores, (contexts, steps + 1, nodes): log P(y = k). Between two steps u and l it is
   log F(u) + log(1 - F(l)) + log(1 - exp(l - u)), whose last term, `apart` (contexts, steps - 1), is the same at every
   ability. `small` is scratch for a row of nodes. */
EXPORT void KERNEL(graded_log_prob)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict intercepts,
    const double *restrict apart, int64_t steps, const double *restrict points, int64_t size, double *restrict small,
    double *restrict out
) {
    for (int64_t c = first; c < last; c++) {
        for (int64_t k = 0; k < steps; k++) {
            double a = slope[c], e = intercepts[c * steps + k];
            double beyond = k + 1 < steps ? apart[c * (steps - 1) + k] : 0.0;
            double *restrict below = out + (c * (steps + 1) + k) * size, *restrict reached = below + size;
            for (int64_t q = 0; q < size; q++)
                small[q] = -fabs(a * points[q] + e);
            KERNEL(exponentials)(small, size, 0.0);
            for (int64_t q = 0; q < size; q++) {
                double s = a * points[q] + e, rest = log_one_more(small[q]);
                double fails = -larger(s, 0.0) - rest, passes = -larger(-s, 0.0) - rest;
                below[q] = k ? below[q] + fails : fails;
                reached[q] = passes + beyond;
            }
        }
    }
}

/* Graded scores, (contexts, steps + 1, nodes) twice: the density at a score's own step, and at the next, over the score's
   probability: f = F (1 - F), and no logarithms. `apart`: 1 / (1 - exp(l - u)). `far`: how small 1 - F may become.
   Scratch: `pass` and `fail`, (steps, nodes). */
EXPORT void KERNEL(graded_ratios)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict intercepts,
    const double *restrict apart, int64_t steps, const double *restrict points, int64_t size, double far,
    double *restrict pass, double *restrict fail, double *restrict up, double *restrict down
) {
    for (int64_t c = first; c < last; c++) {
        double *restrict own = up + c * (steps + 1) * size, *restrict next = down + c * (steps + 1) * size;
        for (int64_t k = 0; k < steps; k++) {
            double a = slope[c], e = intercepts[c * steps + k];
            double *restrict above = pass + k * size, *restrict below = fail + k * size;
            for (int64_t q = 0; q < size; q++)
                below[q] = -fabs(a * points[q] + e);
            for (int64_t q = 0; q < size; q++)
                below[q] = larger(below[q], -far);
            KERNEL(exponentials)(below, size, 0.0);
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
        for (int64_t k = 1; k < steps; k++) {
            double by = apart[c * (steps - 1) + k - 1];
            for (int64_t q = 0; q < size; q++) {
                own[k * size + q] = by * fail[(k - 1) * size + q] / fail[k * size + q];
                next[k * size + q] = by * pass[k * size + q] / pass[(k - 1) * size + q];
            }
        }
    }
}

/* Adjacent categories: (contexts, steps, nodes) P(y = k), null where not asked for, and (contexts, nodes) the logarithm of
   what they are divided by, 1 + sum_k exp(k a t + e_k). Scratch: `small`, (steps + 1, nodes), and `top`, a row. */
EXPORT void KERNEL(adjacent)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict intercepts, int64_t steps,
    const double *restrict points, int64_t size, double *restrict small, double *restrict top,
    double *restrict probabilities, double *restrict partition
) {
    double *restrict total = small + steps * size;
    for (int64_t c = first; c < last; c++) {
        double a = slope[c], *restrict log_total = partition + c * size;
        for (int64_t q = 0; q < size; q++)
            top[q] = 0.0;
        for (int64_t k = 0; k < steps; k++) {
            double e = intercepts[c * steps + k], lever = (double)(k + 1) * a;
            for (int64_t q = 0; q < size; q++) {
                small[k * size + q] = lever * points[q] + e;
                top[q] = larger(top[q], small[k * size + q]);
            }
        }
        for (int64_t k = 0; k < steps; k++)
            for (int64_t q = 0; q < size; q++)
                small[k * size + q] -= top[q];
        for (int64_t q = 0; q < size; q++)
            total[q] = -top[q];
        KERNEL(exponentials)(small, (steps + 1) * size, 0.0);
        for (int64_t k = 0; k < steps; k++)
            for (int64_t q = 0; q < size; q++)
                total[q] += small[k * size + q];
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
