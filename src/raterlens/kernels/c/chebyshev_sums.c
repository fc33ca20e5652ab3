/* Smooth functions of a slope and a severity, read off tables of Chebyshev coefficients. */

#include "kernels.h"

enum { FOURS = LANE / 4 };

/* T_0 .. T_{size - 1} of a lane of numbers, row after row: T_k = 2 x T_{k-1} - T_{k-2}. */
INLINE void polynomials(const double *restrict x, int64_t size, double *restrict out) {
    for (int l = 0; l < LANE; l++) {
        out[l] = 1.0;
        if (size > 1)
            out[LANE + l] = x[l];
    }
    for (int64_t k = 2; k < size; k++)
        for (int l = 0; l < LANE; l++)
            out[k * LANE + l] = 2.0 * x[l] * out[(k - 1) * LANE + l] - out[(k - 2) * LANE + l];
}

/* out[v, own, p] = sum_ij c[v, r, i, j] T_i(x) T_j(y) with own = row[r], where x and y are slopes[own, p] and
   severities[own, p] as seen from the centre of their row, in units of half its width: centre[0, r] and half[0, r] of slopes,
   [1, r] of severities. There are `rows` tables, and `all` rows of places. `scratch` is for n + m lanes. */
EXPORT void KERNEL(chebyshev_sums)(
    int64_t first, int64_t last, const int64_t *restrict row, int64_t rows, int64_t all, int64_t size,
    const double *restrict slopes,
    const double *restrict severities, const double *restrict centre, const double *restrict half,
    const double *restrict coefficients, int64_t values, int64_t n, int64_t m, double *restrict scratch,
    double *restrict out
) {
    double *restrict by_slope = scratch, *restrict by_severity = scratch + n * LANE;
    for (int64_t r = first; r < last; r++)
        for (int64_t begin = 0; begin < size; begin += LANE) {
            int64_t left = size - begin < LANE ? size - begin : LANE;
            double x[LANE], y[LANE];
            for (int l = 0; l < LANE; l++) {
                int64_t p = row[r] * size + begin + (l < left ? l : 0);
                x[l] = (slopes[p] - centre[r]) / half[r];
                y[l] = (severities[p] - centre[rows + r]) / half[rows + r];
            }
            polynomials(x, n, by_slope);
            polynomials(y, m, by_severity);
            for (int64_t v = 0; v < values; v++) {
                const double *restrict c = coefficients + (v * rows + r) * n * m;
                four total[FOURS] = {{0.0}};
                for (int64_t i = 0; i < n; i++) {
                    four inner[FOURS] = {{0.0}};
                    for (int64_t j = 0; j < m; j++)
                        for (int k = 0; k < FOURS; k++)
                            inner[k] += c[i * m + j] * load(by_severity + j * LANE + 4 * k);
                    for (int k = 0; k < FOURS; k++)
                        total[k] += inner[k] * load(by_slope + i * LANE + 4 * k);
                }
                for (int64_t l = 0; l < left; l++)
                    out[(v * all + row[r]) * size + begin + l] = total[l / 4][l % 4];
            }
        }
}
