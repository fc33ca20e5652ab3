/* Functions of a predictor, tabulated on equally spaced nodes, on average over normal predictors. */

#include "kernels.h"

/* Standard deviations from its mean beyond which a normal density is nothing, 1e-17 of its peak; the slope is added to
   them, by which the peak moves where it is multiplied by exp(x), as tails of scores fall. */
static const double REACH = 8.8;
/* What is left of functions that vanish beyond the nodes. */
static const double REST = 1e-16;
static const double ROOT_2PI = 2.5066282746310005;

/* Lanes after which the recursion below starts anew, before its rounding errors matter. */
enum { STRETCH = 32, FOURS = LANE / 4 };

/* density[i] = exp(-z^2 / 2), z = z0 + i dz, i = 0 .. size - 1, in whole lanes. From one lane to the next, densities are
   multiplied by ratios, which change by the same factor every time. */
INLINE void densities(double z0, double dz, int64_t size, double *restrict density) {
    double wide = LANE * dz;
    for (int64_t start = 0; start < size; start += STRETCH * LANE) {
        int64_t end = start + STRETCH * LANE < size ? start + STRETCH * LANE : size;
        double begin[2 * LANE + 1];
        for (int l = 0; l < LANE; l++) {
            double z = z0 + (double)(start + l) * dz;
            begin[l] = -0.5 * z * z;
            begin[LANE + l] = -wide * (z + 0.5 * wide);
        }
        begin[2 * LANE] = -wide * wide;
        KERNEL(exponentials)(begin, 2 * LANE + 1, 0.0);
        four now[FOURS], ratio[FOURS];
        for (int k = 0; k < FOURS; k++) {
            now[k] = load(begin + 4 * k);
            ratio[k] = load(begin + LANE + 4 * k);
        }
        for (int64_t i = start; i < end; i += LANE)
            for (int k = 0; k < FOURS; k++) {
                store(density + i + 4 * k, now[k]);
                now[k] *= ratio[k];
                ratio[k] *= begin[2 * LANE];
            }
    }
}

/* The sum of any number of them; `density` is scratch for `most` numbers, in whole lanes. */
INLINE double density_sum(double z0, double dz, int64_t size, double *restrict density, int64_t most) {
    double total = 0.0;
    for (int64_t start = 0; start < size; start += most) {
        int64_t some = size - start < most ? size - start : most;
        densities(z0 + (double)start * dz, dz, some, density);
        for (int64_t i = 0; i < some; i++)
            total += density[i];
    }
    return total;
}

/* out[v, p] = E[g_v(x)] for a normal x of mean -severity[p] and standard deviation slope[p] by the trapezoidal rule, where
   tables[p / each, v, j] = g_v(low + j step), j = 0 .. nodes - 1. Beyond them functions keep the values of the ends.
   `scratch` is for `nodes` numbers, in whole lanes. */
EXPORT void KERNEL(normal_averages)(
    int64_t first, int64_t last, int64_t places, int64_t each, const double *restrict slope,
    const double *restrict severity,
    double low, double step, int64_t nodes, const double *restrict tables, int64_t values,
    double *restrict scratch, double *restrict out
) {
    /* Whether anything is left of any function before the first node, and after the last. */
    int begins = 0, remains = 0;
    int64_t all = (last - 1) / each + 1;
    for (int64_t v = first / each * values; v < all * values; v++) {
        begins |= fabs(tables[v * nodes]) > REST;
        remains |= fabs(tables[(v + 1) * nodes - 1]) > REST;
    }
    for (int64_t p = first; p < last; p++) {
        double dz = step / slope[p], wide = (REACH + slope[p]) / dz;
        /* Where all are beyond an end, it does not matter how far. */
        double centre = larger(-wide - 1.0, fmin((-severity[p] - low) / step, (double)nodes + wide));
        /* Nodes in reach go from `begin` to `end`, those in the tables from `from` to `to`. */
        int64_t begin = (int64_t)ceil(centre - wide), end = (int64_t)floor(centre + wide) + 1;
        int64_t from = begin > 0 ? begin : 0, to = end < nodes ? end : nodes;
        double before = 0.0, after = 0.0;
        if (begins && begin < 0)
            before = density_sum(((double)begin - centre) * dz, dz, (end < 0 ? end : 0) - begin, scratch, nodes);
        if (remains && end > nodes) {
            int64_t next = begin > nodes ? begin : nodes;
            after = density_sum(((double)next - centre) * dz, dz, end - next, scratch, nodes);
        }
        if (from < to)
            densities(((double)from - centre) * dz, dz, to - from, scratch);
        for (int64_t v = 0; v < values; v++) {
            const double *restrict table = tables + (p / each * values + v) * nodes;
            double total = before * table[0] + after * table[nodes - 1];
            for (int64_t j = from; j < to; j++)
                total += table[j] * scratch[j - from];
            out[v * places + p] = total * dz / ROOT_2PI;
        }
    }
}
