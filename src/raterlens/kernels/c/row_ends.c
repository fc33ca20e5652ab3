/* The smallest or largest numbers of each row, for quantiles near its ends. */

#include "kernels.h"

/* out[r]: the `few` smallest numbers of each row in increasing order, or with a sign of -1 the largest in decreasing order.
   In numbers that come in no order, hardly any after the first ones are among the smallest so far. */
EXPORT void KERNEL(row_ends)(
    int64_t first, int64_t last, int64_t size, int64_t few, double sign, const double *restrict values, double *restrict out
) {
    for (int64_t r = first; r < last; r++) {
        const double *restrict row = values + r * size;
        double *restrict kept = out + r * few, most = INFINITY;
        for (int64_t i = 0; i < few; i++)
            kept[i] = INFINITY;
        for (int64_t i = 0; i < size; i++) {
            double own = sign * row[i];
            if (!(own < most))
                continue;
            int64_t place = few - 1;
            for (; place > 0 && kept[place - 1] > own; place--)
                kept[place] = kept[place - 1];
            kept[place] = own;
            most = kept[few - 1];
        }
        for (int64_t i = 0; i < few; i++)
            kept[i] *= sign;
    }
}
