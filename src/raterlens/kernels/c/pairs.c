/* Pairs of rows within runs. */

#include "kernels.h"

/* Every two rows of the same run, by how far apart they stand in it: `one` and `two`, run after run. */
EXPORT void KERNEL(fill_pairs)(
    const int64_t *restrict order, const int64_t *restrict first, int64_t n_runs, int64_t *restrict one,
    int64_t *restrict two
) {
    int64_t to = 0;
    for (int64_t run = 0; run < n_runs; run++) {
        const int64_t *restrict rows = order + first[run];
        int64_t size = first[run + 1] - first[run];
        for (int64_t apart = 1; apart < size; apart++)
            for (int64_t i = 0; i + apart < size; i++, to++) {
                one[to] = rows[i];
                two[to] = rows[i + apart];
            }
    }
}
