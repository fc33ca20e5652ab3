/* Tables of pass/fail ratings through the logit. */

#include "kernels.h"

/* (contexts, width): log(1 + exp(slope t + intercept)); `small` is scratch for a row of whole lanes. */
EXPORT void KERNEL(softplus)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict intercept,
    const double *restrict points, int64_t size, int64_t width, double *restrict small, double *restrict out
) {
    for (int64_t c = first; c < last; c++) {
        double a = slope[c], e = intercept[c], *restrict row = out + c * width;
        for (int64_t q = 0; q < size; q++)
            small[q] = -fabs(a * points[q] + e);
        KERNEL(exponentials)(small, size, 0.0);
        for (int64_t q = 0; q < width; q++)
            row[q] = larger(a * points[q] + e, 0.0) + log_one_more(small[q]);
    }
}

/* (contexts,) twice: the sums over nodes of counts times pass rate times ability, and without ability. */
EXPORT void KERNEL(passes)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict intercept,
    const double *restrict points, int64_t size, int64_t width, const double *restrict counts,
    double *restrict small, double *restrict by_ability, double *restrict total
) {
    for (int64_t c = first; c < last; c++) {
        double a = slope[c], e = intercept[c], own = 0.0, plain = 0.0;
        const double *restrict count = counts + c * width;
        for (int64_t q = 0; q < size; q++)
            small[q] = -fabs(a * points[q] + e);
        KERNEL(exponentials)(small, size, 0.0);
        for (int64_t q = 0; q < width; q++) {
            double above = a * points[q] + e > 0.0 ? 1.0 : small[q];
            double expected = count[q] * above / (1.0 + small[q]);
            plain += expected;
            own += expected * points[q];
        }
        by_ability[c] = own;
        total[c] = plain;
    }
}
