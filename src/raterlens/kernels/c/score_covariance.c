/* Covariances of the students' scores over their posteriors, node by node. */

#include "kernels.h"

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
    /* Their rows of the tables, and what these are multiplied by; null where each has its own, as it is. */
    const int64_t *row;
    const double *factor;
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

/* Where an entry stands among those of the sparse triangle; -1 where it is none of them. */
static int64_t entry(const Scores *scores, int64_t row, int64_t column) {
    int64_t low = scores->pattern_indptr[row], end = scores->pattern_indptr[row + 1], high = end - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (scores->pattern_indices[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && scores->pattern_indices[low] == column ? low : -1;
}

/* The most a student's stride may be, by the width of its posterior and its steepest cell. */
static int stride_for(const Scores *scores, int64_t n, const double *posterior) {
    four first = {0.0}, second = {0.0};
    int64_t q = 0, size = scores->n_nodes;
    for (; q + 4 <= size; q += 4) {
        four point = load(scores->points + q), part = load(posterior + q) * point;
        first += part;
        second += part * point;
    }
    double centre = sum_of(first), square = sum_of(second), steep = 0.0;
    for (; q < size; q++) {
        double part = posterior[q] * scores->points[q];
        centre += part;
        square += part * scores->points[q];
    }
    for (int64_t at = scores->indptr[n]; at < scores->indptr[n + 1]; at++)
        steep = larger(steep, scores->steepest[scores->indices[at]]);
    double reach = scores->furthest * sqrt(larger(square - centre * centre, 0.0));
    reach = (1.0 / steep < reach ? 1.0 / steep : reach) / scores->step;
    int which = 0;
    while (which + 1 < STRIDES && reach >= (double)STRIDE[which + 1])
        which++;
    return which;
}

/* The sums of four registers as one: half as many steps as one by one. */
INLINE four sums_of(const four *n) {
    four first = {n[0][0], n[1][0], n[2][0], n[3][0]}, second = {n[0][1], n[1][1], n[2][1], n[3][1]};
    four third = {n[0][2], n[1][2], n[2][2], n[3][2]}, fourth = {n[0][3], n[1][3], n[2][3], n[3][3]};
    return (first + second) + (third + fourth);
}

/* Sums of products of two rows with four others, at once: what is loaded of one serves several sums. */
INLINE void dots(
    const double *one, const double *two, const double *others, int64_t apart, int64_t size, double *of_one,
    double *of_two
) {
    four sums[8] = {{0.0}};
    for (int64_t q = 0; q < size; q += 4) {
        four own = load(one + q), next = load(two + q);
        for (int j = 0; j < 4; j++) {
            four other = load(others + j * apart + q);
            sums[j] += own * other;
            sums[4 + j] += next * other;
        }
    }
    store(of_one, sums_of(sums));
    store(of_two, sums_of(sums + 4));
}

/* Add what parameter `i` of a student has in common with itself and those before it: `products` less products of means.
   Returns how many entries had no place. */
INLINE int64_t add_row(
    const Scores *scores, int64_t i, double weight, const int64_t *restrict touched, const double *restrict products,
    const double *restrict means, double *restrict total
) {
    int64_t missing = 0, own = touched[i], n = scores->n_parameters;
    double mean = means[i];
    if (!scores->pattern_indptr) {
        for (int64_t k = 0; k <= i; k++) {
            int64_t other = touched[k], to = own < other ? own * n + other : other * n + own;
            total[to] += weight * (products[k] - mean * means[k]);
        }
        return 0;
    }
    for (int64_t k = 0; k <= i; k++) {
        int64_t other = touched[k], to = own < other ? entry(scores, own, other) : entry(scores, other, own);
        if (to < 0)
            missing++;
        else
            total[to] += weight * (products[k] - mean * means[k]);
    }
    return missing;
}

/* A student's scores, of as many parameters as were `touched`, on `size` nodes from `low` on. */
typedef struct {
    const Grid *grid;
    int64_t low, size, count, missing;
} Own;

/* Scratch: `place` (parameters,), all -1, and to be so again; `touched` for the most parameters that a student has, `score`
   as many rows of `width` nodes; `share` is a row for the posterior's weights. */
INLINE Own scores_of(
    const Scores *scores, int64_t n, const double *restrict posterior, int64_t width, int64_t *restrict place,
    int64_t *restrict touched, double *restrict score, double *restrict share
) {
    int which = stride_for(scores, n, posterior);
    const Grid *grid = &scores->grids[which];
    int64_t stride = STRIDE[which], missing = 0;

    /* The nodes that carry the posterior, and this many after them that they fill whole registers. */
    int64_t low = 0, high = (scores->n_nodes + stride - 1) / stride;
    while (low + 1 < high && fabs(posterior[low * stride]) < NEGLIGIBLE)
        low++;
    while (low + 1 < high && fabs(posterior[(high - 1) * stride]) < NEGLIGIBLE)
        high--;
    int64_t inside = high - low, size = (inside + 3) / 4 * 4;
    for (int64_t q = 0; q < inside; q++)
        share[q] = posterior[(low + q) * stride];
    for (int64_t q = inside; q < size; q++)
        share[q] = 0.0;
    four whole = {0.0};
    for (int64_t q = 0; q < size; q += 4)
        whole += load(share + q);
    double by_whole = 1.0 / sum_of(whole);
    for (int64_t q = 0; q < size; q++)
        share[q] *= by_whole;

    int64_t count = 0;
    for (int64_t at = scores->indptr[n]; at < scores->indptr[n + 1]; at++) {
        int32_t cell = scores->indices[at];
        double often = scores->times[at];
        for (int64_t e = scores->first[cell]; e < scores->first[cell + 1]; e++) {
            const double *restrict of_cell = grid->table + (scores->row ? scores->row[e] : e) * grid->width + low;
            double times = scores->factor ? often * scores->factor[e] : often;
            int64_t i = place[scores->parameter[e]];
            if (i < 0) {
                double *restrict own = score + count * width;
                place[scores->parameter[e]] = count;
                touched[count++] = scores->parameter[e];
                for (int64_t q = 0; q < size; q++)
                    own[q] = times * of_cell[q];
            } else {
                double *restrict own = score + i * width;
                for (int64_t q = 0; q < size; q++)
                    own[q] += times * of_cell[q];
            }
        }
    }
    for (int64_t at = scores->sums_indptr[n]; at < scores->sums_indptr[n + 1]; at++) {
        int32_t column = scores->sums_indices[at];
        for (int64_t e = scores->slopes_indptr[column]; e < scores->slopes_indptr[column + 1]; e++) {
            int64_t i = place[scores->slopes_indices[e]];
            if (i < 0) {
                missing++;
                continue;
            }
            double *restrict own = score + i * width;
            double by = scores->sums_data[at] * scores->slopes_data[e];
            for (int64_t q = 0; q < size; q++)
                own[q] += by * grid->points[low + q];
        }
    }
    return (Own){grid, low, size, count, missing};
}

/* Add the covariances of the students from `start` to `stop` to the upper triangle in `total`, a full matrix or the
   entries of the pattern. `posterior` begins with student `offset`. Scratch as of `scores_of`, and three rows of `products`
   for the most parameters that a student has, rounded up to four, and three `rows` of nodes. Returns how many sums and
   entries had no place, 0 unless the parts of `scores` disagree. */
EXPORT int64_t KERNEL(add_covariances)(
    const Scores *scores, const double *posteriors, int64_t offset, int64_t start, int64_t stop, int64_t width,
    int64_t most, int64_t *restrict place, int64_t *restrict touched, double *restrict products, double *restrict score,
    double *restrict rows, double *restrict total
) {
    double *restrict share = rows, *restrict one = rows + width, *restrict two = rows + 2 * width;
    double *restrict means = products + 2 * most;
    int64_t missing = 0;
    for (int64_t n = start; n < stop; n++) {
        const double *restrict posterior = posteriors + (n - offset) * scores->n_nodes;
        Own found = scores_of(scores, n, posterior, width, place, touched, score, share);
        int64_t count = found.count, size = found.size;
        missing += found.missing;
        double weight = scores->weight ? scores->weight[n] : 1.0;
        for (int64_t i = 0; i < count; i += 2) {
            const double *restrict own = score + i * width;
            four mean = {0.0}, next = {0.0};
            for (int64_t q = 0; q < size; q += 4) {
                four part = load(share + q), of_one = part * load(own + q), of_two = part * load(own + width + q);
                store(one + q, of_one);
                store(two + q, of_two);
                mean += of_one;
                next += of_two;
            }
            means[i] = sum_of(mean);
            means[i + 1] = sum_of(next);
            for (int64_t k = 0; k < i + 2; k += 4)
                dots(one, two, score + k * width, width, size, products + k, products + most + k);
            missing += add_row(scores, i, weight, touched, products, means, total);
            if (i + 1 < count)
                missing += add_row(scores, i + 1, weight, touched, products + most, means, total);
        }
        for (int64_t i = 0; i < count; i++)
            place[touched[i]] = -1;
    }
    return missing;
}

/* For the students from `start` to `stop`, whose weights at the nodes (students, nodes) begin with student `offset`: the
   parameters that their scores are by and their sums over the nodes with these weights, student after student, and in
   `lengths` how many each has. `place` as of `scores_of`. Returns how many sums of scores had no place. */
EXPORT int64_t KERNEL(summed_scores)(
    const Scores *scores, const double *weights, int64_t offset, int64_t start, int64_t stop, int64_t *restrict place,
    int64_t *restrict lengths, int64_t *restrict parameter, double *restrict value
) {
    const Grid *grid = &scores->grids[0];
    int64_t missing = 0;
    for (int64_t n = start; n < stop; n++) {
        const double *restrict weight = weights + (n - offset) * scores->n_nodes;
        Carried at = carried_by(weight, scores->n_nodes);
        int64_t count = 0;
        for (int64_t i = scores->indptr[n]; i < scores->indptr[n + 1]; i++) {
            int32_t cell = scores->indices[i];
            for (int64_t e = scores->first[cell]; e < scores->first[cell + 1]; e++) {
                const double *restrict own = grid->table + (scores->row ? scores->row[e] : e) * grid->width;
                double sum = 0.0;
                for (int64_t q = at.low; q < at.high; q++)
                    sum += weight[q] * own[q];
                int64_t *to = place + scores->parameter[e];
                if (*to < 0) {
                    *to = count;
                    parameter[count] = scores->parameter[e];
                    value[count++] = 0.0;
                }
                value[*to] += scores->times[i] * (scores->factor ? scores->factor[e] : 1.0) * sum;
            }
        }
        double centre = 0.0;
        for (int64_t q = at.low; q < at.high; q++)
            centre += weight[q] * scores->points[q];
        for (int64_t i = scores->sums_indptr[n]; i < scores->sums_indptr[n + 1]; i++) {
            int32_t column = scores->sums_indices[i];
            for (int64_t e = scores->slopes_indptr[column]; e < scores->slopes_indptr[column + 1]; e++) {
                int64_t to = place[scores->slopes_indices[e]];
                if (to < 0)
                    missing++;
                else
                    value[to] += scores->sums_data[i] * scores->slopes_data[e] * centre;
            }
        }
        for (int64_t i = 0; i < count; i++)
            place[parameter[i]] = -1;
        lengths[n - start] = count;
        parameter += count;
        value += count;
    }
    return missing;
}

/* out[n] = sum_ij g_i V_ij g_j, of the sparse rows g from `first` to `last` with a symmetric matrix (size, size). */
EXPORT void KERNEL(quadratic_forms)(
    int64_t first, int64_t last, const int64_t *restrict indptr, const int32_t *restrict indices,
    const double *restrict data, const double *restrict matrix, int64_t size, double *restrict out
) {
    for (int64_t n = first; n < last; n++) {
        double total = 0.0;
        for (int64_t i = indptr[n]; i < indptr[n + 1]; i++) {
            const double *restrict row = matrix + indices[i] * size;
            double along = 0.5 * data[i] * row[indices[i]];
            for (int64_t j = indptr[n]; j < i; j++)
                along += data[j] * row[indices[j]];
            total += 2.0 * data[i] * along;
        }
        out[n] = total;
    }
}
