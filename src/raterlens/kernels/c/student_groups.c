/* Ratings of students in order, in groups: by rater, or by what else a rating's context says. And rows of sparse matrices,
   told apart. */

#include "kernels.h"

typedef struct {
    /* One entry per rating. */
    const int32_t *student, *rater, *item;
    const int16_t *score;
    int64_t n_items;
    /* Of each context, rater x items + item: its group, null where that is the rater; and its key. */
    const int32_t *group_of;
    const uint64_t *key_of;
    /* Where the entries of each student begin; null where they are only to be counted. */
    const int64_t *indptr;
    int64_t *per_student;
    /* Groups of each student, the sums of their keys and of their scores. */
    int32_t *groups;
    uint64_t *keys;
    double *totals;
} Grouping;

/* A student's few entries by their groups: Shell's sort, which takes no memory. */
static void sort_entries(int32_t *restrict groups, uint64_t *restrict keys, double *restrict totals, int64_t n) {
    static const int64_t GAPS[] = {8192, 1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (int g = 0; g < 10; g++) {
        int64_t gap = GAPS[g];
        for (int64_t i = gap; i < n; i++) {
            int32_t group = groups[i];
            uint64_t key = keys[i];
            double total = totals[i];
            int64_t at = i;
            for (; at >= gap && groups[at - gap] > group; at -= gap) {
                groups[at] = groups[at - gap];
                keys[at] = keys[at - gap];
                totals[at] = totals[at - gap];
            }
            groups[at] = group;
            keys[at] = key;
            totals[at] = total;
        }
    }
}

/* Groups of the ratings from `first` to `last`, whole students. Returns whether these stand in order; if not, nothing can be
   said. Scratch: `place` (groups,), all -1. */
INLINE int32_t over_students(const Grouping *all, int64_t first, int64_t last, int32_t *restrict place, int filling) {
    for (int64_t row = first; row < last;) {
        int32_t own = all->student[row], n = 0;
        int64_t begin = filling ? all->indptr[own] : 0, start = row;
        int32_t *restrict groups = all->groups + begin;
        uint64_t *restrict keys = all->keys + begin;
        double *restrict totals = all->totals + begin;
        for (; row < last && all->student[row] == own; row++) {
            int64_t context = (int64_t)all->rater[row] * all->n_items + all->item[row];
            int32_t group = all->group_of ? all->group_of[context] : all->rater[row];
            int32_t at = place[group];
            if (at < 0) {
                at = place[group] = n++;
                if (filling) {
                    groups[at] = group;
                    keys[at] = 0;
                    totals[at] = 0.0;
                }
            }
            if (filling) {
                keys[at] += all->key_of[context];
                totals[at] += all->score[row];
            }
        }
        if (row < last && all->student[row] < own)
            return 0;
        for (int64_t again = start; again < row; again++) {
            int64_t context = (int64_t)all->rater[again] * all->n_items + all->item[again];
            place[all->group_of ? all->group_of[context] : all->rater[again]] = -1;
        }
        if (filling)
            sort_entries(groups, keys, totals, n);
        else
            all->per_student[own] = n;
    }
    return 1;
}

/* per_student <- how many groups each student has. */
EXPORT int32_t KERNEL(count_groups)(const Grouping *all, int64_t first, int64_t last, int32_t *restrict place) {
    return over_students(all, first, last, place, 0);
}

/* groups, keys, totals <- the entries of each student, from where they begin. */
EXPORT int32_t KERNEL(fill_groups)(const Grouping *all, int64_t first, int64_t last, int32_t *restrict place) {
    return over_students(all, first, last, place, 1);
}

/* one[student] <- the last of the student's raters; seen[one * n_raters + rater] <- 1 for each of them, of the ratings from
   `first` to `last`, whole students. Threads may share `seen`. Returns whether students stand in order; if not, nothing can be
   said. */
EXPORT int32_t KERNEL(pair_raters)(
    int64_t first, int64_t last, const int32_t *restrict student, const int32_t *restrict rater, int64_t n_raters,
    int32_t *restrict one, int8_t *seen
) {
    for (int64_t begin = first; begin < last;) {
        int32_t own = student[begin];
        int64_t end = begin + 1;
        while (end < last && student[end] == own)
            end++;
        if (end < last && student[end] < own)
            return 0;
        one[own] = rater[end - 1];
        int8_t *of_one = seen + one[own] * n_raters;
        for (; begin < end; begin++)
            if (!of_one[rater[begin]])
                of_one[rater[begin]] = 1;
    }
    return 1;
}

/* keys[row] <- plus the sum of the columns' keys, each as often as it counts, of the rows from `first` to `last`. Returns
   whether all counts are whole numbers; if not, the keys say nothing. */
EXPORT int32_t KERNEL(add_row_keys)(
    const int64_t *restrict indptr, const int32_t *restrict indices, const double *restrict data,
    const uint64_t *restrict of_column, int64_t first, int64_t last, uint64_t *restrict keys
) {
    for (int64_t row = first; row < last; row++) {
        uint64_t key = 0;
        for (int64_t at = indptr[row]; at < indptr[row + 1]; at++) {
            if (!(data[at] >= 0.0 && data[at] < 9e15 && data[at] == floor(data[at])))
                return 0;
            key += of_column[indices[at]] * (uint64_t)data[at];
        }
        keys[row] += key;
    }
    return 1;
}
