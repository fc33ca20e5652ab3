/* True categories of student-items given a student's ratings, one pass over the students. */

#include "kernels.h"

/* Returns the log-likelihood of the students from `start` to `stop`, and fills `one` (student-items,) and adds to
   `truths` (2, items, nodes). `first`: where each student's student-items begin. `joint` (nodes,) and `total` (most
   student-items of a student, nodes) are scratch. */
EXPORT double KERNEL(expected_truths)(
    int64_t start, int64_t stop, const int64_t *restrict first, const int64_t *restrict item,
    const int64_t *restrict cell, const double *restrict likelihood, const double *restrict top,
    const double *restrict fail, const double *restrict succeed, int64_t n_items, const double *restrict weights,
    int64_t size, double *restrict joint, double *restrict total, double *restrict one, double *restrict truths
) {
    double loglik = 0.0;
    for (int64_t n = start; n < stop; n++) {
        int64_t begin = first[n], end = first[n + 1];
        for (int64_t q = 0; q < size; q++)
            joint[q] = weights[q];
        for (int64_t u = begin; u < end; u++) {
            double *restrict here = total + (u - begin) * size;
            const double *restrict down = fail + item[u] * size, *restrict up = succeed + item[u] * size;
            double of_fail = likelihood[2 * cell[u]], of_success = likelihood[2 * cell[u] + 1];
            loglik += top[cell[u]];
            for (int64_t q = 0; q < size; q++) {
                here[q] = down[q] * of_fail + up[q] * of_success;
                joint[q] *= here[q];
            }
            if ((u - begin) % 8 == 7) { /* before the products leave the range of doubles */
                double peak = 0.0;
                for (int64_t q = 0; q < size; q++)
                    peak = larger(peak, joint[q]);
                loglik += log(peak);
                for (int64_t q = 0; q < size; q++)
                    joint[q] /= peak;
            }
        }
        double mass = 0.0;
        for (int64_t q = 0; q < size; q++)
            mass += joint[q];
        loglik += log(mass);
        for (int64_t q = 0; q < size; q++)
            joint[q] /= mass;
        for (int64_t u = begin; u < end; u++) {
            const double *restrict here = total + (u - begin) * size, *restrict up = succeed + item[u] * size;
            double *restrict none = truths + item[u] * size, *restrict some = truths + (n_items + item[u]) * size;
            double of_success = likelihood[2 * cell[u] + 1], sure = 0.0;
            for (int64_t q = 0; q < size; q++) {
                double share = joint[q] * up[q] * of_success / larger(here[q], 1e-300);
                some[q] += share;
                none[q] += joint[q] - share;
                sure += share;
            }
            one[u] = sure;
        }
    }
    return loglik;
}
