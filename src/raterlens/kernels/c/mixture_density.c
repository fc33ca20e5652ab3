/* Mixtures of normal distributions seen through a normal population, for many raters at once: how steep they are where a
   rater's severity is, and how much of them lies beyond. */

#include "kernels.h"

/* Horner coefficients of erfc(y) exp(y^2) / t in 2 t - 1, t = 1 / (1 + y / 2), for every y >= 0: Chebyshev interpolation of
   degree 25, within 2e-16 of it. */
static const double ERFCX[] = {
    -9.743115754914081419e-10, -1.8983185717900799323e-9, 1.2683080316045675931e-8,
    6.4435979250466529887e-9, -6.8180765990655688715e-8, 3.6201683260938795672e-8,
    1.7630181517105486566e-7, -3.2654749792003859112e-7, -1.1319613509521392666e-8,
    1.0308565838096152283e-6, -1.8167079024791187299e-6, -5.7782229817987804191e-7,
    8.0586546141389291511e-6, -0.000010842910058395441553, -0.000017074025151708480884,
    0.000072234167592393892053, -0.000017185781852311768291, -0.00033153657308598260663,
    0.00041864803692931906433, 0.0015453060137318342534, -0.0032395925341297784751,
    -0.010755330944017010103, 0.018221115753444061031, 0.13973604627801434885,
    0.34358034220690528405, 0.51079135262101152638
};
enum { DEGREE = sizeof ERFCX / sizeof ERFCX[0] - 1 };
static const double ROOT_HALF = 0.70710678118654752;

/* exp(power), in place; 0 where `exponentials` would keep to its smallest number, of which no ratio means anything. */
INLINE void vanishing_exponentials(double *restrict power, int64_t size) {
    KERNEL(exponentials)(power, size, 0.0);
    for (int64_t k = 0; k < size; k++)
        power[k] = power[k] > 1e-307 ? power[k] : 0.0;
}

/* out[r] = sum_k w_k exp(-severity^2 / (2 (v_k + slope^2))) / sqrt(v_k + slope^2); `power` and `root` are scratch for as
   many numbers as there are components. */
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
            vanishing_exponentials(power, size);
            for (int64_t k = 0; k < size; k++)
                total += root[k] * power[k];
        } else {
            for (int64_t k = 0; k < size; k++)
                total += root[k];
        }
        out[r] = total;
    }
}

/* 2 Phi(-root) / exp(-root^2 / 2), of a root of at least 0. */
INLINE double scaled_tail(double root) {
    double t = 1.0 / (1.0 + 0.5 * ROOT_HALF * root), s = 2.0 * t - 1.0, p = ERFCX[0];
    for (int i = 1; i <= DEGREE; i++)
        p = p * s + ERFCX[i];
    return t * p;
}

/* Both, which share the exponentials: tail[r] = sum_k w_k Phi(-distance / sqrt(v_k + slope^2)), of distances of at
   least 0, and density[r] = sum_k w_k exp(-distance^2 / (2 (v_k + slope^2))) /
   sqrt(v_k + slope^2); `part` is scratch for three times as many numbers as there are components. */
EXPORT void KERNEL(mean_tail_and_density)(
    int64_t first, int64_t last, const double *restrict slope, const double *restrict distance,
    const double *restrict variances, const double *restrict weights, int64_t size, double *restrict part,
    double *restrict tail, double *restrict density
) {
    double *restrict power = part, *restrict root = part + size, *restrict weighted = part + 2 * size;
    for (int64_t r = first; r < last; r++) {
        double square = slope[r] * slope[r], beyond = 0.0, height = 0.0;
        for (int64_t k = 0; k < size; k++) {
            double narrow = sqrt(1.0 / (variances[k] + square));
            root[k] = distance[r] * narrow;
            weighted[k] = weights[k] * narrow;
            power[k] = -0.5 * root[k] * root[k];
        }
        vanishing_exponentials(power, size);
        for (int64_t k = 0; k < size; k++) {
            height += weighted[k] * power[k];
            beyond += weights[k] * power[k] * scaled_tail(root[k]);
        }
        tail[r] = 0.5 * beyond;
        density[r] = height;
    }
}
