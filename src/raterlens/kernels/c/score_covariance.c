/* Covariances of the students' scores over their posteriors, node by node. */

#include "kernels.h"

#include <stddef.h>

/* Nodes that carry less than this of a posterior are passed over. */
static const double NEGLIGIBLE = 1e-12;
/* A wide posterior is gone over by every second node, or every fourth. */
enum { STRIDES = 3 };
static const int64_t STRIDE[STRIDES] = {1, 2, 4};

/* The scores of the cells and the nodes at one stride, padded by a lane. */
typedef struct {
    const double *table, *points;
    int64_t width;
} Grid;

typedef struct {
    /* Students' cells and sums, whole matrices by rows. */
    const int64_t *indptr;
    const int32_t *indices;
    const double *times;
    const int64_t *sums_indptr;
    const int32_t *sums_indices;
    const double *sums_data;
    const double *weight;
    /* Which entries of the tables belong to a cell, their parameters, and a cell's steepest slope. */
    const int64_t *first, *parameter;
    const double *steepest;
    const int64_t *slopes_indptr, *slopes_indices;
    const double *slopes_data;
    Grid grids[STRIDES];
    const double *points;
    int64_t n_nodes;
    double step, furthest;
    /* The entries of a sparse upper triangle; null where all are kept. */
    const int64_t *pattern_indptr;
    const int32_t *pattern_indices;
    int64_t n_parameters;
} Scores;

/* Where an entry stands among those of the sparse triangle. */
static int64_t entry(const Scores *scores, int64_t row, int64_t column) {
    int64_t low = scores->pattern_indptr[row], high = scores->pattern_indptr[row + 1] - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (scores->pattern_indices[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The most a student's stride may be, by the width of its posterior and its steepest cell. */
static int stride_for(const Scores *scores, int64_t n, const double *posterior) {
    double centre = 0.0, square = 0.0, steep = 0.0;
    for (int64_t q = 0; q < scores->n_nodes; q++)
        centre += posterior[q] * scores->points[q];
    for (int64_t q = 0; q < scores->n_nodes; q++) {
        double away = scores->points[q] - centre;
        square += posterior[q] * away * away;
    }
    for (int64_t at = scores->indptr[n]; at < scores->indptr[n + 1]; at++)
        steep = larger(steep, scores->steepest[scores->indices[at]]);
    double reach = scores->furthest * sqrt(square);
    reach = (1.0 / steep < reach ? 1.0 / steep : reach) / scores->step;
    int which = 0;
    while (which + 1 < STRIDES && reach >= (double)STRIDE[which + 1])
        which++;
    return which;
}

/* Sums of products of one row with four others, at once. */
INLINE void dots(const double *one, const double *others, int64_t apart, int64_t size, double *found) {
    four sums[4] = {{0.0}};
    for (int64_t q = 0; q < size; q += 4) {
        four own = load(one + q);
        for (int j = 0; j < 4; j++)
            sums[j] += own * load(others + j * apart + q);
    }
    for (int j = 0; j < 4; j++)
        found[j] = sum_of(sums[j]);
}

/* Up to so many parameters, covariances of students with the same cells are added up close by before they go to their places
   all over the total. */
enum { NEAR = 64 };

/* The parameters of the students that are gone over, who have the same cells. */
typedef struct {
    const int32_t *cells;
    int64_t n_cells, count;
    /* Of each entry of their cells, which of these parameters it belongs to; the parameters. */
    int64_t *slot, *touched;
    double near[NEAR * NEAR];
} Shared;

INLINE void add_to(const Scores *scores, double *total, const Shared *shared, int64_t i, int64_t k, double covariance) {
    int64_t one = shared->touched[i], other = shared->touched[k];
    int64_t row = one < other ? one : other, column = one < other ? other : one;
    total[scores->pattern_indptr ? entry(scores, row, column) : row * scores->n_parameters + column] += covariance;
}

/* Put what was added up close by into the total. */
static void flush(const Scores *scores, Shared *shared, double *restrict total) {
    if (shared->count <= NEAR)
        for (int64_t i = 0; i < shared->count; i++)
            for (int64_t k = 0; k <= i; k++)
                add_to(scores, total, shared, i, k, shared->near[i * NEAR + k]);
}

/* Whether a student has the same cells as the one before. */
INLINE int same_cells(const Scores *scores, const Shared *shared, int64_t n) {
    const int32_t *cells = scores->indices + scores->indptr[n];
    if (!shared->cells || scores->indptr[n + 1] - scores->indptr[n] != shared->n_cells)
        return 0;
    for (int64_t c = 0; c < shared->n_cells; c++)
        if (cells[c] != shared->cells[c])
            return 0;
    return 1;
}

/* The parameters of a student with other cells than the one before. */
static void share(const Scores *scores, Shared *shared, int64_t n, int64_t *restrict place) {
    int64_t count = 0, entries = 0;
    shared->cells = scores->indices + scores->indptr[n];
    shared->n_cells = scores->indptr[n + 1] - scores->indptr[n];
    for (int64_t i = 0; i < shared->count; i++)
        place[shared->touched[i]] = -1;
    for (int64_t c = 0; c < shared->n_cells; c++)
        for (int64_t e = scores->first[shared->cells[c]]; e < scores->first[shared->cells[c] + 1]; e++) {
            int64_t parameter = scores->parameter[e];
            if (place[parameter] < 0) {
                place[parameter] = count;
                shared->touched[count++] = parameter;
            }
            shared->slot[entries++] = place[parameter];
        }
    shared->count = count;
    if (count <= NEAR)
        for (int64_t at = 0; at < count * NEAR; at++)
            shared->near[at] = 0.0;
}

/* Add the covariances of the students from `start` to `stop` to the upper triangle in `total`, a full matrix or the
   entries of the pattern. `posterior` begins with student `offset`. Scratch: `place` (parameters,), all -1; `slot` for the
   most entries that a student's cells have; `touched` and `means` for the most parameters, rounded up to four; `score` as
   many rows of `width` nodes, and `root` one. */
EXPORT void KERNEL(add_covariances)(
    const Scores *scores, const double *posteriors, int64_t offset, int64_t start, int64_t stop, int64_t width,
    int64_t *restrict place, int64_t *restrict slot, int64_t *restrict touched, double *restrict means,
    double *restrict score, double *restrict root, double *restrict total
) {
    Shared shared = {.cells = NULL, .slot = slot, .touched = touched};
    for (int64_t n = start; n < stop; n++) {
        const double *restrict posterior = posteriors + (n - offset) * scores->n_nodes;
        int which = stride_for(scores, n, posterior);
        const Grid *grid = &scores->grids[which];
        int64_t stride = STRIDE[which];

        /* The nodes that carry the posterior, and so many after them that they fill whole vectors. */
        int64_t low = 0, high = (scores->n_nodes + stride - 1) / stride;
        while (posterior[low * stride] < NEGLIGIBLE)
            low++;
        while (posterior[(high - 1) * stride] < NEGLIGIBLE)
            high--;
        int64_t inside = high - low, size = (inside + 3) / 4 * 4;
        double whole = 0.0;
        for (int64_t q = 0; q < inside; q++)
            whole += posterior[(low + q) * stride];
        for (int64_t q = 0; q < inside; q++)
            root[q] = sqrt(posterior[(low + q) * stride] / whole);
        for (int64_t q = inside; q < size; q++)
            root[q] = 0.0;

        if (!same_cells(scores, &shared, n)) {
            flush(scores, &shared, total);
            share(scores, &shared, n, place);
        }
        int64_t seen = 0, entries = 0, count = shared.count;
        for (int64_t at = scores->indptr[n]; at < scores->indptr[n + 1]; at++) {
            int32_t cell = scores->indices[at];
            double often = scores->times[at];
            for (int64_t e = scores->first[cell]; e < scores->first[cell + 1]; e++) {
                const double *restrict of_cell = grid->table + e * grid->width + low;
                int64_t i = slot[entries++];
                double *restrict own = score + i * width;
                if (i == seen) {
                    seen++;
                    for (int64_t q = 0; q < size; q++)
                        own[q] = often * of_cell[q];
                } else {
                    for (int64_t q = 0; q < size; q++)
                        own[q] += often * of_cell[q];
                }
            }
        }
        for (int64_t at = scores->sums_indptr[n]; at < scores->sums_indptr[n + 1]; at++) {
            int32_t column = scores->sums_indices[at];
            for (int64_t e = scores->slopes_indptr[column]; e < scores->slopes_indptr[column + 1]; e++) {
                double *restrict own = score + place[scores->slopes_indices[e]] * width;
                double by = scores->sums_data[at] * scores->slopes_data[e];
                for (int64_t q = 0; q < size; q++)
                    own[q] += by * grid->points[low + q];
            }
        }

        double weight = scores->weight ? scores->weight[n] : 1.0;
        for (int64_t i = 0; i < count; i++) {
            double *restrict own = score + i * width;
            double mean = 0.0;
            for (int64_t q = 0; q < size; q++) {
                own[q] *= root[q];
                mean += own[q] * root[q];
            }
            means[i] = mean;
            for (int64_t j = 0; j <= i; j += 4) {
                double found[4];
                dots(own, score + j * width, width, size, found);
                for (int k = 0; k < 4; k++)
                    found[k] = weight * (found[k] - mean * means[j + k]);
                if (count <= NEAR) { /* what is right of the diagonal is never read */
                    for (int k = 0; k < 4; k++)
                        shared.near[i * NEAR + j + k] += found[k];
                } else {
                    for (int64_t k = j; k <= i && k < j + 4; k++)
                        add_to(scores, total, &shared, i, k, found[k - j]);
                }
            }
        }
    }
    flush(scores, &shared, total);
}
