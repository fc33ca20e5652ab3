/* Rows sorted by their codes, runs of equal codes, and the pairs within runs. */

#include "kernels.h"

/* order <- `rows` (all as they came, where there are none) by their codes; `place`: (codes + 1,) zeros. */
EXPORT void KERNEL(sort_rows)(
    const int32_t *restrict codes, int64_t n, int64_t n_codes, int64_t *restrict place,
    const int64_t *restrict rows, int64_t *restrict order
) {
    for (int64_t i = 0; i < n; i++)
        place[codes[i] + 1]++;
    for (int64_t code = 1; code <= n_codes; code++)
        place[code] += place[code - 1];
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows ? rows[i] : i;
        order[place[codes[row]]++] = row;
    }
}

EXPORT int32_t KERNEL(is_sorted)(const int32_t *restrict one, const int32_t *restrict two, int64_t n) {
    for (int64_t i = 1; i < n; i++)
        if (one[i] < one[i - 1] || (one[i] == one[i - 1] && two[i] < two[i - 1]))
            return 0;
    return 1;
}

/* first <- where a new pair of codes begins in the order, with the end; of_row <- the number of its pair. Returns how
   many pairs there are. */
EXPORT int64_t KERNEL(find_runs)(
    const int64_t *restrict order, int64_t n, const int32_t *restrict one, const int32_t *restrict two,
    int64_t *restrict first, int64_t *restrict of_row
) {
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = order[i];
        if (i == 0 || one[row] != one[order[i - 1]] || two[row] != two[order[i - 1]])
            first[found++] = i;
        of_row[row] = found - 1;
    }
    first[found] = n;
    return found;
}

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
