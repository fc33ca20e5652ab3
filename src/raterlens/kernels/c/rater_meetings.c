/* Every two raters with common work: how often each two scores met, and how often they should have. */

#include "kernels.h"

/* Counts, at the place after that of the rater who comes first, the pairs of ratings by different raters. */
EXPORT void KERNEL(count_meetings)(
    int64_t n, const int64_t *restrict first, const int64_t *restrict second, const int32_t *restrict rater,
    int64_t *restrict count
) {
    for (int64_t i = 0; i < n; i++) {
        int32_t one = rater[first[i]], two = rater[second[i]];
        if (one != two)
            count[(one < two ? one : two) + 1]++;
    }
}

/* Sorts the meetings by the rater who comes first: the other one, the cell of the table of their scores, and what was
   expected (where that is known). `place`: where the meetings of each rater begin; where they end, afterwards. */
EXPORT void KERNEL(sort_meetings)(
    int64_t n, const int64_t *restrict first, const int64_t *restrict second, const int32_t *restrict rater,
    const int16_t *restrict score, int64_t n_scores, const double *restrict expected, int64_t *restrict place,
    int32_t *restrict other, int32_t *restrict cell, double *restrict foreseen
) {
    for (int64_t i = 0; i < n; i++) {
        int64_t one = first[i], two = second[i];
        if (rater[one] == rater[two])
            continue;
        if (rater[one] > rater[two]) {
            int64_t kept = one;
            one = two;
            two = kept;
        }
        int64_t to = place[rater[one]]++;
        other[to] = rater[two];
        cell[to] = (int32_t)(score[one] * n_scores + score[two]);
        if (expected)
            foreseen[to] = expected[i];
    }
}

/* How many pairs of raters there are; `seen`: (raters,) of -1. */
EXPORT int64_t KERNEL(count_pairs_of_raters)(
    int64_t n_raters, const int64_t *restrict begin, const int32_t *restrict other, int32_t *restrict seen
) {
    int64_t found = 0;
    for (int64_t r = 0; r < n_raters; r++)
        for (int64_t i = begin[r]; i < begin[r + 1]; i++)
            if (seen[other[i]] != r) {
                seen[other[i]] = (int32_t)r;
                found++;
            }
    return found;
}

/* Adds up the meetings of each pair of raters, sorted by the first, then the second: `tables` (pairs, scores x scores)
   and `sums` are zeros. Scratch: `bits`, a zero for every 64 raters, says whom a rater met; `slot` (raters,). */
EXPORT void KERNEL(add_meetings)(
    int64_t n_raters, const int64_t *restrict begin, const int32_t *restrict other, const int32_t *restrict cell,
    const double *restrict foreseen, int64_t n_cells, int64_t *restrict bits, int64_t *restrict slot,
    int32_t *restrict one, int32_t *restrict two, int64_t *restrict tables, double *restrict sums
) {
    int64_t found = 0;
    for (int64_t r = 0; r < n_raters; r++) {
        for (int64_t i = begin[r]; i < begin[r + 1]; i++)
            bits[other[i] >> 6] |= (int64_t)((uint64_t)1 << (other[i] & 63));
        for (int64_t word = r >> 6; begin[r] < begin[r + 1] && word <= (n_raters - 1) >> 6; word++) {
            for (uint64_t left = (uint64_t)bits[word]; left; left &= left - 1) {
                int64_t who = (word << 6) + __builtin_ctzll(left);
                slot[who] = found;
                one[found] = (int32_t)r;
                two[found++] = (int32_t)who;
            }
            bits[word] = 0;
        }
        for (int64_t i = begin[r]; i < begin[r + 1]; i++) {
            int64_t at = slot[other[i]];
            tables[at * n_cells + cell[i]]++;
            if (foreseen)
                sums[at] += foreseen[i];
        }
    }
}
