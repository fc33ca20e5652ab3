/* Tables of pass/fail ratings through the logit.

   Ratings of one slope a share exp(a t): the odds of a pass are its product with exp(e), of the intercept e, and the sum of
   log(1 + odds) that an essay needs is the logarithm of one product, as long as that stays in range. */

#include "kernels.h"

/* Products within exp(+-600) stay well inside the range of doubles. */
static const double RANGE = 600.0;

/* Nodes, and exp(+-slope t) of the latest slope that was asked for, in whole lanes. */
typedef struct {
    const double *points;
    int64_t width, size;
    double furthest, sign, slope, *powers;
    int known;
} Powers;

INLINE Powers powers_on(const double *points, int64_t width, double sign, double *scratch) {
    double furthest = 0.0;
    for (int64_t q = 0; q < width; q++)
        furthest = larger(fabs(points[q]), furthest);
    return (Powers){points, width, whole_lanes(width), furthest, sign, 0.0, scratch, 0};
}

INLINE void follow(Powers *powers, double slope) {
    if (powers->known && powers->slope == slope)
        return;
    powers->known = 1;
    powers->slope = slope;
    for (int64_t q = 0; q < powers->size; q++)
        powers->powers[q] = q < powers->width ? powers->sign * slope * powers->points[q] : 0.0;
    KERNEL(exponentials)(powers->powers, powers->size, 0.0);
}

/* exp(-|slope t + intercept|) instead, where either exponential by itself might leave the range. */
INLINE void without_product(Powers *powers, double slope, double intercept) {
    powers->known = 0;
    for (int64_t q = 0; q < powers->size; q++)
        powers->powers[q] = q < powers->width ? -fabs(slope * powers->points[q] + intercept) : 0.0;
    KERNEL(exponentials)(powers->powers, powers->size, 0.0);
}

/* row <- row - log(product), and the product begins anew. */
INLINE void take_logarithm(double *restrict row, double *restrict product, int64_t size, int64_t width) {
    KERNEL(logarithms)(product, size);
    for (int64_t q = 0; q < width; q++)
        row[q] -= product[q];
    for (int64_t q = 0; q < size; q++)
        product[q] = 1.0;
}

/* (kinds, width): minus the sum of log(1 + exp(slope t + intercept)) over the members of each kind, as often as they
   occur. `scratch` has two rows of whole lanes. */
EXPORT void KERNEL(essay_logs)(
    int64_t first, int64_t last, const int64_t *restrict indptr, const int32_t *restrict indices,
    const double *restrict times, const double *restrict slope, const double *restrict intercept,
    const double *restrict points, int64_t width, double *restrict scratch, double *restrict out
) {
    Powers powers = powers_on(points, width, 1.0, scratch);
    double *restrict product = scratch + powers.size;
    for (int64_t q = 0; q < powers.size; q++)
        product[q] = 1.0;
    for (int64_t kind = first; kind < last; kind++) {
        double *restrict row = out + kind * width, reached = 0.0;
        for (int64_t q = 0; q < width; q++)
            row[q] = 0.0;
        for (int64_t at = indptr[kind]; at < indptr[kind + 1]; at++) {
            double a = slope[indices[at]], e = intercept[indices[at]];
            /* A factor is 1 + odds: at most twice the larger of the two. */
            double reach = fabs(a) * powers.furthest + fabs(e) + 1.0;
            if (!(reach < RANGE)) {
                without_product(&powers, a, e);
                for (int64_t q = 0; q < width; q++)
                    row[q] -= times[at] * (larger(a * points[q] + e, 0.0) + log_one_more(powers.powers[q]));
                continue;
            }
            follow(&powers, a);
            double odds = exp(e);
            for (double left = times[at]; left >= 1.0; left -= 1.0) {
                if (reached + reach > RANGE) {
                    take_logarithm(row, product, powers.size, width);
                    reached = 0.0;
                }
                reached += reach;
                for (int64_t q = 0; q < powers.size; q++)
                    product[q] *= 1.0 + odds * powers.powers[q];
            }
        }
        take_logarithm(row, product, powers.size, width);
    }
}

/* Of the contexts from `first` to `last`: (contexts, width) the counts of the kinds that they are members of, and
   (contexts,) twice, the sums over nodes of counts times pass rate times ability, and without ability. `scratch` is a row
   of whole lanes. */
EXPORT void KERNEL(essay_passes)(
    int64_t first, int64_t last, const int64_t *restrict indptr, const int32_t *restrict indices,
    const double *restrict times, const double *restrict slope, const double *restrict intercept,
    const double *restrict points, int64_t width, const double *restrict of_kinds, double *restrict scratch,
    double *restrict counts, double *restrict by_ability, double *restrict total
) {
    Powers powers = powers_on(points, width, -1.0, scratch);
    for (int64_t c = first; c < last; c++) {
        double a = slope[c], e = intercept[c], own = 0.0, plain = 0.0, *restrict count = counts + c * width;
        for (int64_t q = 0; q < width; q++)
            count[q] = 0.0;
        for (int64_t at = indptr[c]; at < indptr[c + 1]; at++) {
            const double *restrict of_kind = of_kinds + indices[at] * width;
            for (int64_t q = 0; q < width; q++)
                count[q] += times[at] * of_kind[q];
        }
        if (fabs(a) * powers.furthest + fabs(e) < RANGE) {
            follow(&powers, a);
            double against = exp(-e);
            for (int64_t q = 0; q < width; q++) {
                double expected = count[q] / (1.0 + against * powers.powers[q]);
                plain += expected;
                own += expected * points[q];
            }
        } else {
            without_product(&powers, a, e);
            for (int64_t q = 0; q < width; q++) {
                double above = a * points[q] + e > 0.0 ? 1.0 : powers.powers[q];
                double expected = count[q] * above / (1.0 + powers.powers[q]);
                plain += expected;
                own += expected * points[q];
            }
        }
        by_ability[c] = own;
        total[c] = plain;
    }
}
