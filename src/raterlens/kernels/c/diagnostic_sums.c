/* Sums over all ratings that diagnostics are made of. */

#include "kernels.h"

INLINE double sign(double x) { return (x > 0.0) - (x < 0.0); }

/* (looks, 3, raters): see `rater_effects._successive`. Scratch: `mean` (raters, 2) and `count` (raters,) zeros; `last`
   (raters, 2) and `last_on` (raters x items, 2) not-a-numbers. */
EXPORT void KERNEL(add_successive)(
    int64_t n, const int32_t *restrict rater, const int32_t *restrict item, const int16_t *restrict score,
    const int64_t *restrict pair, const double *restrict level, int64_t n_items, const double *restrict centre,
    int64_t n_raters, const double *restrict rest, double *restrict mean, double *restrict count,
    double *restrict last, double *restrict last_on, double *restrict sums
) {
    for (int64_t i = 0; i < n; i++) {
        int64_t r = rater[i];
        double value = score[i] - level[r * n_items + item[i]];
        mean[2 * r] += value;
        mean[2 * r + 1] += value * sign(rest[pair[i]] - centre[r]);
        count[r] += 1.0;
    }
    for (int64_t r = 0; r < n_raters; r++) {
        mean[2 * r] /= larger(count[r], 1.0);
        mean[2 * r + 1] /= larger(count[r], 1.0);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t r = rater[i], on = r * n_items + item[i];
        double value = score[i] - level[on], towards = sign(rest[pair[i]] - centre[r]);
        for (int way = 0; way < 2; way++) {
            double x = (way == 0 ? value : value * towards) - mean[2 * r + way];
            double before[2] = {last[2 * r + way], last_on[2 * on + way]};
            for (int look = 0; look < 2; look++) {
                double *restrict to = sums + (2 * way + look) * 3 * n_raters + r;
                if (!isnan(before[look])) {
                    to[0] += before[look] * x;
                    to[n_raters] += (before[look] * before[look] + x * x) / 2.0;
                    to[2 * n_raters] += 1.0;
                }
            }
            last[2 * r + way] = last_on[2 * on + way] = x;
        }
    }
}

/* (contexts, 17): see `fit_statistics.sums_of_contexts`. */
EXPORT void KERNEL(add_context_sums)(
    int64_t n, const int32_t *restrict context, const int64_t *restrict pair, const int16_t *restrict score,
    const double *restrict rest, const double *restrict squared, const double *restrict variance,
    const double *restrict standardised, const double *restrict foreseen, const double *restrict foreseen_variance,
    double *restrict sums
) {
    for (int64_t i = 0; i < n; i++) {
        double *restrict of = sums + 17 * (int64_t)context[i];
        double x = rest[pair[i]], y = (double)score[i], m = foreseen[i];
        double infit = squared[i] - variance[i], outfit = standardised[i] - 1.0;
        of[0] += squared[i];
        of[1] += variance[i];
        of[2] += standardised[i];
        of[3] += infit;
        of[4] += outfit;
        of[5] += infit * infit;
        of[6] += outfit * outfit;
        of[7] += x;
        of[8] += y;
        of[9] += m;
        of[10] += x * x;
        of[11] += y * y;
        of[12] += m * m;
        of[13] += x * y;
        of[14] += x * m;
        of[15] += foreseen_variance[i];
        of[16] += 1.0;
    }
}

/* (rater x levels, 9) and (raters, 4): see `interactions.Sums`. Scratch: `parts` (2, levels) and `has` (levels,), zeros,
   and `levels` (levels,). */
EXPORT void KERNEL(add_level_sums)(
    int64_t n_pairs, const int64_t *restrict rater, const int64_t *restrict judged,
    const double *restrict score_of_pair, const double *restrict tilt_of_pair, const int64_t *restrict first,
    const int64_t *restrict order, const int32_t *restrict level, int64_t n_levels, const int16_t *restrict given,
    const double *restrict expected, const double *restrict score, const double *restrict tilt,
    const double *restrict information, const double *restrict mean, const double *restrict sd,
    double *restrict parts, int8_t *restrict has, int64_t *restrict levels, double *restrict of_cell,
    double *restrict of_rater
) {
    double *restrict lean_part = parts, *restrict score_part = parts + n_levels;
    for (int64_t p = 0; p < n_pairs; p++) {
        double theta = mean[judged[p]], of_width = 1.0 / larger(sd[judged[p]] * sd[judged[p]], 1e-12);
        double *restrict whole = of_rater + 4 * rater[p], *restrict cells = of_cell + 9 * rater[p] * n_levels;
        int64_t n = 0;
        for (int64_t i = first[p]; i < first[p + 1]; i++) {
            int64_t at = order[i], here = level[at];
            double info = information[at], *restrict of = cells + 9 * here;
            if (!has[here]) {
                has[here] = 1;
                levels[n++] = here;
            }
            lean_part[here] += tilt[at] - theta * score[at];
            score_part[here] += score[at];
            of[0] += 1.0;
            of[1] += given[at];
            of[2] += expected[at];
            of[3] += score[at];
            of[4] += info;
            of[5] += info;
            of[6] += info * theta;
            whole[0] += info;
            whole[1] += info * theta;
            whole[2] += info * theta * theta;
        }
        double lean = tilt_of_pair[p] - theta * score_of_pair[p];
        for (int64_t j = 0; j < n; j++) {
            int64_t here = levels[j];
            double *restrict of = cells + 9 * here, missing = lean_part[here] * lean * of_width;
            of[4] -= lean_part[here] * lean_part[here] * of_width;
            of[5] -= missing;
            of[6] -= missing * theta;
            of[7] += score_part[here] * score_part[here];
            of[8] += score_part[here] * score_of_pair[p];
            lean_part[here] = score_part[here] = 0.0;
            has[here] = 0;
        }
        double lost = lean * lean * of_width;
        whole[0] -= lost;
        whole[1] -= lost * theta;
        whole[2] -= lost * theta * theta;
        whole[3] += score_of_pair[p] * score_of_pair[p];
    }
}
