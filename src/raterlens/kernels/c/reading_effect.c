/* Readings averaged over their effect u, by products of few numbers for each set of items and each u: the mathematics
   stands in reading_effect.py. */

#include "kernels.h"

/* score[j] = sum_k p_k x_j^k */
INLINE void odds(
    double *restrict score, const double *restrict p, int64_t highest, const double *restrict x, int64_t size
) {
    for (int64_t j = 0; j < size; j++)
        score[j] = p[highest] * x[j] + p[highest - 1];
    for (int64_t k = highest - 2; k >= 0; k--)
        for (int64_t j = 0; j < size; j++)
            score[j] = score[j] * x[j] + p[k];
}

/* out (kinds, nodes) <- R, of the sets from `first` to `last`. */
EXPORT void KERNEL(average_readings)(
    int64_t first, int64_t last, const int64_t *restrict row, const int64_t *restrict first_member,
    const int64_t *restrict member, const int64_t *restrict first_kind, const int64_t *restrict kind,
    const int64_t *restrict total, const double *restrict probabilities, int64_t n_nodes, int64_t n_scores,
    const double *restrict weights, const double *restrict factor, const double *restrict powers, int64_t n_sums,
    int64_t size, double *restrict product, double *restrict score, double *restrict out
) {
    for (int64_t s = first; s < last; s++) {
        const double *restrict x = factor + row[s] * size;
        for (int64_t q = 0; q < n_nodes; q++) {
            for (int64_t j = 0; j < size; j++)
                product[j] = 1.0;
            for (int64_t at = first_member[s]; at < first_member[s + 1]; at++) {
                odds(score, probabilities + (member[at] * n_nodes + q) * n_scores, n_scores - 1, x, size);
                for (int64_t j = 0; j < size; j++)
                    product[j] *= score[j];
            }
            for (int64_t j = 0; j < size; j++)
                product[j] = weights[j] / product[j];
            for (int64_t at = first_kind[s]; at < first_kind[s + 1]; at++) {
                const double *restrict power = powers + (row[s] * n_sums + total[at]) * size;
                double found = 0.0;
                for (int64_t j = 0; j < size; j++)
                    found += product[j] * power[j];
                out[kind[at] * n_nodes + q] = found;
            }
        }
    }
}

/* What is expected of the scores, summed over u and the nodes. Scratch: `inverse` (longest set, u) and four rows of u. */
EXPORT void KERNEL(sum_readings)(
    int64_t first, int64_t last, const int64_t *restrict rater, const int64_t *restrict row,
    const int64_t *restrict first_member, const int64_t *restrict member, const int64_t *restrict first_kind,
    const int64_t *restrict kind, const int64_t *restrict total, const double *restrict probabilities,
    int64_t n_nodes, int64_t n_scores, const double *restrict u, const double *restrict weights,
    const double *restrict factor, const double *restrict powers, int64_t n_sums, int64_t size,
    const double *restrict points, const double *restrict averages, const double *restrict counts,
    double *restrict inverse, double *restrict scratch, double *restrict given, double *restrict by_ability,
    double *restrict by_effect, double *restrict readings
) {
    int64_t highest = n_scores - 1;
    double *restrict expected = scratch, *restrict left = scratch + size;
    double *restrict weight = scratch + 2 * size, *restrict scores = scratch + 3 * size;
    for (int64_t s = first; s < last; s++) {
        const double *restrict x = factor + row[s] * size;
        int64_t begin = first_member[s], end = first_member[s + 1];
        double of_effect = 0.0;
        for (int64_t q = 0; q < n_nodes; q++) {
            double number = 0.0;
            for (int64_t j = 0; j < size; j++)
                weight[j] = scores[j] = 0.0;
            for (int64_t at = first_kind[s]; at < first_kind[s + 1]; at++) {
                const double *restrict power = powers + (row[s] * n_sums + total[at]) * size;
                double count = counts[kind[at] * n_nodes + q];
                double each = count / averages[kind[at] * n_nodes + q], all_scores = each * (double)total[at];
                number += count;
                for (int64_t j = 0; j < size; j++) {
                    weight[j] += each * power[j];
                    scores[j] += all_scores * power[j];
                }
            }
            for (int64_t j = 0; j < size; j++)
                left[j] = weights[j];
            for (int64_t at = begin; at < end; at++) {
                double *restrict own = inverse + (at - begin) * size;
                odds(own, probabilities + (member[at] * n_nodes + q) * n_scores, highest, x, size);
                for (int64_t j = 0; j < size; j++) {
                    own[j] = 1.0 / own[j];
                    left[j] *= own[j];
                }
            }
            for (int64_t j = 0; j < size; j++) {
                weight[j] *= left[j];
                of_effect += u[j] * left[j] * scores[j];
            }
            for (int64_t at = begin; at < end; at++) {
                int64_t context = member[at];
                const double *restrict own = inverse + (at - begin) * size;
                const double *restrict p = probabilities + (context * n_nodes + q) * n_scores;
                double of_score = 0.0;
                readings[context * n_nodes + q] += number;
                for (int64_t j = 0; j < size; j++)
                    expected[j] = weight[j] * own[j];
                for (int64_t k = 1; k <= highest; k++) {
                    double often = 0.0, with_effect = 0.0;
                    for (int64_t j = 0; j < size; j++) {
                        expected[j] *= x[j];
                        often += expected[j];
                        with_effect += u[j] * expected[j];
                    }
                    given[context * highest + k - 1] += p[k] * often;
                    of_score += (double)k * p[k] * often;
                    of_effect -= (double)k * p[k] * with_effect;
                }
                by_ability[context] += points[q] * of_score;
            }
        }
        by_effect[rater[s]] += of_effect;
    }
}
