/* A mixture of normal densities seen through a normal population, for many raters at once. */

#include "kernels.h"

/* out[r] = sum_k w_k exp(-severity^2 / (2 (v_k + slope^2))) / sqrt(v_k + slope^2); components fill whole lanes, the last
   of which weigh nothing. `power` and `root` are scratch for a row of them. */
EXPORT void KERNEL(mean_density)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict severity,
    const double *restrict variances, const double *restrict weights, int64_t size, double *restrict power,
    double *restrict root, double *restrict out
) {
    for (int64_t r = first; r < last; r++) {
        double square = slope[r] * slope[r], half = -0.5 * severity[r] * severity[r], total = 0.0;
        for (int64_t k = 0; k < size; k++) {
            double precision = 1.0 / (variances[k] + square);
            root[k] = weights[k] * sqrt(precision);
            power[k] = half * precision;
        }
        if (half != 0.0) {
            KERNEL(exponentials)(power, size, 0.0);
            for (int64_t k = 0; k < size; k++)
                total += root[k] * power[k];
        } else {
            for (int64_t k = 0; k < size; k++)
                total += root[k];
        }
        out[r] = total;
    }
}
