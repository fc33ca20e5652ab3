/* Students' scores, summed over nodes of ability with weights of each student's own. */

#include "kernels.h"

/* Derivatives of slopes and intercepts in the parameters, a sparse matrix by rows: of slopes of contexts first. */
typedef struct {
    const int64_t *indptr;
    const int32_t *indices;
    const double *data;
} Jacobian;

/* What a student's ratings say of the parameters so far: where each stands, -1 for none, and the sums. */
typedef struct {
    int64_t *place, count;
    int32_t *parameter;
    double *value;
} Sums;

/* Add `by` times a row of the Jacobian. */
INLINE void add_row(Sums *sums, const Jacobian *jacobian, int64_t row, double by) {
    for (int64_t at = jacobian->indptr[row]; at < jacobian->indptr[row + 1]; at++) {
        int32_t parameter = jacobian->indices[at];
        int64_t i = sums->place[parameter];
        if (i < 0) {
            i = sums->place[parameter] = sums->count++;
            sums->parameter[i] = parameter;
            sums->value[i] = 0.0;
        }
        sums->value[i] += by * jacobian->data[at];
    }
}

/* For the students from `first` to `last`, whose ratings are those from begin[n] to begin[n + 1] and whose weights (students,
   size) begin with the first of them: the parameters that their ratings depend on and the sums, student after student, and
   in `lengths` how many each has. A cell's entries, from entries[cell] on, are rows of `table`: derivatives in intercepts, of
   which `through` are the rows of the Jacobian; each adds `lever` times the node to that in the slope of the cell's context.
   Where `score` is not null, cells are contexts, and a score adds itself times the node to the slope's, and 1 to its own
   intercept's. `place` is (parameters,), all -1; `tilted` is scratch for a row of nodes. */
EXPORT void KERNEL(score_sums)(
    int64_t first, int64_t last, const double *restrict weights, int64_t size, const double *restrict points,
    const int64_t *restrict begin, const int32_t *restrict cell, const int16_t *restrict score,
    const int32_t *restrict context, const int64_t *restrict entries, const int32_t *restrict through,
    const double *restrict lever, const double *restrict table, const int64_t *restrict indptr,
    const int32_t *restrict indices, const double *restrict data, int64_t contexts, int64_t steps,
    double *restrict tilted, int64_t *restrict place, int64_t *restrict lengths, int32_t *restrict parameter,
    double *restrict value
) {
    Jacobian jacobian = {indptr, indices, data};
    for (int64_t n = first; n < last; n++) {
        const double *restrict weight = weights + (n - first) * size;
        Sums sums = {place, 0, parameter, value};
        Carried at = carried_by(weight, size);
        int64_t low = at.low, high = at.high;
        double whole = 0.0, centre = 0.0;
        for (int64_t q = low; q < high; q++) {
            tilted[q] = weight[q] * points[q];
            whole += weight[q];
            centre += tilted[q];
        }
        for (int64_t i = begin[n]; i < begin[n + 1]; i++) {
            double along = score ? centre * score[i] : 0.0;
            for (int64_t e = entries[cell[i]]; e < entries[cell[i] + 1]; e++) {
                const double *restrict own = table + e * size;
                double sum = 0.0, at_nodes = 0.0;
                for (int64_t q = low; q < high; q++) {
                    sum += weight[q] * own[q];
                    at_nodes += tilted[q] * own[q];
                }
                add_row(&sums, &jacobian, through[e], sum);
                along += lever[e] * at_nodes;
            }
            add_row(&sums, &jacobian, context[cell[i]], along);
            if (score && score[i] > 0)
                add_row(&sums, &jacobian, contexts + cell[i] * steps + score[i] - 1, whole);
        }
        for (int64_t i = 0; i < sums.count; i++)
            place[parameter[i]] = -1;
        lengths[n - first] = sums.count;
        parameter += sums.count;
        value += sums.count;
    }
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
