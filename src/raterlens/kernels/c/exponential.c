/* Exponentials and logarithms of whole arrays, in the processor's vectors.

   Compiled without leave to rearrange sums: adding and subtracting ROUND is what rounds. */

#include "kernels.h"

static const double LOG2_E = 1.4426950408889634;
/* ln 2 in two parts, the first with trailing zeros, so that x - k ln 2 loses nothing. */
static const double LN2_HIGH = 6.93147180369123816490e-01, LN2_LOW = 1.90821492927058770002e-10;
/* Adding this leaves the nearest integer in the last bits of a double. */
static const double ROUND = 6755399441055744.0; /* 1.5 * 2^52 */
/* Below this exp(x) is nothing beside the largest, which is 1. */
static const double NOTHING = -708.0;

typedef union {
    double number;
    uint64_t bits;
} Double;

/* x <- exp(x - top). exp(y) = 2^k exp(r) with |r| <= ln 2 / 2, where a Taylor polynomial of degree 13 is exact to
   rounding. */
EXPORT void KERNEL(exponentials)(double *restrict x, int64_t size, double top) {
    for (int64_t q = 0; q < size; q++) {
        double y = larger(x[q] - top, NOTHING);
        Double rounded, scale;
        rounded.number = y * LOG2_E + ROUND;
        double k = rounded.number - ROUND;
        double r = y - k * LN2_HIGH - k * LN2_LOW;
        double p = 1.0 / 6227020800.0;
        p = p * r + 1.0 / 479001600.0;
        p = p * r + 1.0 / 39916800.0;
        p = p * r + 1.0 / 3628800.0;
        p = p * r + 1.0 / 362880.0;
        p = p * r + 1.0 / 40320.0;
        p = p * r + 1.0 / 5040.0;
        p = p * r + 1.0 / 720.0;
        p = p * r + 1.0 / 120.0;
        p = p * r + 1.0 / 24.0;
        p = p * r + 1.0 / 6.0;
        p = p * r + 0.5;
        scale.bits = (rounded.bits + 1023) << 52;
        x[q] = (p * r * r + r + 1.0) * scale.number;
    }
}

/* x <- log(x), of positive normal numbers. x = 2^k m with m in [0.707, 1.414), and log m = 2 artanh(u) with
   u = (m - 1) / (m + 1), a series in u^2, which is at most 0.03: this many terms are exact to rounding. */
EXPORT void KERNEL(logarithms)(double *restrict x, int64_t size) {
    const uint64_t half = 0x3FE6A09E667F3BCDULL; /* the square root of a half */
    for (int64_t q = 0; q < size; q++) {
        Double given, power;
        given.number = x[q];
        /* k + 1024, which is positive, becomes a double in the last bits of 2^52. */
        uint64_t shifted = (given.bits - half + (1024ULL << 52)) >> 52;
        given.bits -= (shifted << 52) - (1024ULL << 52);
        power.bits = shifted | 0x4330000000000000ULL;
        double exponent = power.number - 4503599627371520.0; /* 2^52 + 1024 */
        double u = (given.number - 1.0) / (given.number + 1.0);
        double v = u * u;
        double p = 1.0 / 21.0;
        p = p * v + 1.0 / 19.0;
        p = p * v + 1.0 / 17.0;
        p = p * v + 1.0 / 15.0;
        p = p * v + 1.0 / 13.0;
        p = p * v + 1.0 / 11.0;
        p = p * v + 1.0 / 9.0;
        p = p * v + 1.0 / 7.0;
        p = p * v + 1.0 / 5.0;
        p = p * v + 1.0 / 3.0;
        x[q] = exponent * LN2_HIGH + (2.0 * u + (2.0 * u * v * p + exponent * LN2_LOW));
    }
}
