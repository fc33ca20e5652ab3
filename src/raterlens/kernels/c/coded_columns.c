/* Columns of one number per rating: which occur, codes by a table, rows that repeat another, counts. */

#include "kernels.h"

/* shown[number - lowest] <- 1. Threads may share the table. */
EXPORT void KERNEL(show_numbers)(const int32_t *restrict numbers, int64_t n, int64_t lowest, int8_t *restrict shown) {
    for (int64_t i = 0; i < n; i++)
        if (!shown[numbers[i] - lowest])
            shown[numbers[i] - lowest] = 1;
}

/* numbers[i] <- table[numbers[i] - lowest] */
EXPORT void KERNEL(recode_numbers)(
    int32_t *restrict numbers, int64_t n, int64_t lowest, const int32_t *restrict table
) {
    for (int64_t i = 0; i < n; i++)
        numbers[i] = table[numbers[i] - lowest];
}

/* Whether two rows from `first` to `last` have the same student and the same key; -1 where that cannot be said here: students
   are out of order, or one has more rows than `most`. A row's key is made of its codes: key = key * size + code. Scratch:
   `keys`, as many as `most`. */
EXPORT int32_t KERNEL(any_alike)(
    int64_t first, int64_t last, const int32_t *restrict student, int64_t n_columns, const int32_t *const *columns,
    const int64_t *restrict sizes, int64_t most, uint64_t *restrict keys
) {
    for (int64_t begin = first; begin < last;) {
        int32_t own = student[begin];
        int64_t end = begin + 1;
        while (end < last && student[end] == own)
            end++;
        int64_t n = end - begin;
        if (n > most || (end < last && student[end] < own))
            return -1;
        for (int64_t i = 0; i < n; i++)
            keys[i] = 0;
        for (int64_t c = 0; c < n_columns; c++) {
            const int32_t *restrict codes = columns[c] + begin;
            uint64_t size = (uint64_t)sizes[c];
            for (int64_t i = 0; i < n; i++)
                keys[i] = keys[i] * size + (uint64_t)(int64_t)codes[i];
        }
        for (int64_t i = 1; i < n; i++) {
            int same = 0;
            for (int64_t j = 0; j < i; j++)
                same |= keys[j] == keys[i];
            if (same)
                return 1;
        }
        begin = end;
    }
    return 0;
}

/* given[student] and total[student] <- how many of the rows from `first` to `last` each student has, and the sum of their
   scores. Returns whether students stand in order; if not, threads may have been at the same ones. */
EXPORT int32_t KERNEL(tally_students)(
    int64_t first, int64_t last, const int32_t *restrict student, const int16_t *restrict score, int64_t *restrict given,
    double *restrict total
) {
    for (int64_t begin = first; begin < last;) {
        int32_t own = student[begin];
        int64_t end = begin, sum = 0;
        for (; end < last && student[end] == own; end++)
            sum += score[end];
        if (end < last && student[end] < own)
            return 0;
        given[own] = end - begin;
        total[own] = (double)sum;
        begin = end;
    }
    return 1;
}

/* times[(rater * n_items + item) * k + score] <- one more for each row from `first` to `last`. */
EXPORT void KERNEL(count_cells)(
    int64_t first, int64_t last, const int32_t *restrict rater, const int32_t *restrict item, int64_t n_items,
    const int16_t *restrict score, int64_t k, int64_t *restrict times
) {
    for (int64_t i = first; i < last; i++)
        times[(rater[i] * n_items + item[i]) * k + score[i]]++;
}
