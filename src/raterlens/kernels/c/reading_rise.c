/* How the likelihood of a student rises as the ratings of a reading begin to share an effect. */

#include "kernels.h"

/* out[n] = sum over readings r of student n, and over nodes, of posterior ((sum of first)^2 + sum of second) / 2, sums
   over the ratings of the reading; `sums` is scratch for two rows of nodes. */
EXPORT void KERNEL(reading_rises)(
    int64_t begin, int64_t end, const int64_t *restrict reading, const int64_t *restrict rating,
    const int32_t *restrict cell, const double *restrict first, const double *restrict second,
    const double *restrict posterior, int64_t size, double *restrict sums, double *restrict out
) {
    double *restrict one = sums, *restrict two = sums + size;
    for (int64_t n = begin; n < end; n++) {
        const double *restrict weight = posterior + n * size;
        double total = 0.0;
        Carried at = carried_by(weight, size);
        int64_t low = at.low, high = at.high;
        for (int64_t r = reading[n]; r < reading[n + 1]; r++) {
            for (int64_t q = low; q < high; q++)
                one[q] = two[q] = 0.0;
            for (int64_t i = rating[r]; i < rating[r + 1]; i++) {
                const double *restrict a = first + cell[i] * size, *restrict b = second + cell[i] * size;
                for (int64_t q = low; q < high; q++) {
                    one[q] += a[q];
                    two[q] += b[q];
                }
            }
            for (int64_t q = low; q < high; q++)
                total += weight[q] * (one[q] * one[q] + two[q]);
        }
        out[n] = 0.5 * total;
    }
}
