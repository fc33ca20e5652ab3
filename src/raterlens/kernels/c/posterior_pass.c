/* Students' posteriors from a model's tables, in one pass; the idea stands in posterior_pass.py. */

#include <stddef.h>

#include "kernels.h"

/* Students whose few exponentials and logarithms are taken together. */
enum { BATCH = 32 };
/* Rows that are multiplied in registers. */
enum { AT_ONCE = 8 };
/* Nodes that what lies between them is interpolated from. */
enum { STENCIL = 24 };
/* Logarithms so far below the highest add nothing. */
static const double FALL = 40.0;
/* A sparse matrix by rows. */
typedef struct {
    const int64_t *indptr;
    const int32_t *indices;
    const double *data;
} Sparse;

/* Nodes fill whole lanes, of which the last ones weigh nothing. */
typedef struct {
    int64_t size;
    const double *points, *weights, *log_weights;
    double step;
} Nodes;

/* Exponentials (cells, nodes) of what is left of the logarithms beside a straight line, and the lines; the logarithms
   (cells, width), whose nodes fill no lanes; and how much a cell bends them down at most, null where nobody is narrow. */
typedef struct {
    const double *factors, *level, *slope, *reach, *logs, *bend;
    int64_t width;
} Rows;

/* Posteriors of a smaller variance than `variance` are gone over on nodes that divide each step into `parts`;
   `weights` (positions, STENCIL) are those of interpolation, at every such node from the first of a stencil to its last. */
typedef struct {
    int64_t parts;
    const double *weights;
    double variance;
} Between;

/* What is asked for; null where it is not. Expected counts are (cells, nodes), posteriors (students, width). */
typedef struct {
    double *expected, *weighted, *mean, *sd;
    int64_t shown_first, shown_width;
    double *posterior, *own;
} Found;

typedef struct {
    Sparse counts, sums;
    const double *linear, *weight;
    Rows rows;
    Nodes nodes;
    Between between;
    Found found;
    double range;
} Pass;

/* Of the cells from `first` to `last`: the line through the ends of the logarithms, and the exponentials of what is left
   beside it, whose largest logarithm is `reach`: infinite, and the rest as if there were nothing, where that might leave
   the range of doubles. Where it is asked for, how much they bend down at most, on equally spaced nodes. */
EXPORT void KERNEL(factor_rows)(
    int64_t first, int64_t last, const double *restrict logs, int64_t width, const double *restrict points,
    int64_t size, double range, double *restrict factors, double *restrict level, double *restrict slope,
    double *restrict reach, double *restrict bend
) {
    for (int64_t c = first; c < last; c++) {
        const double *restrict log = logs + c * width;
        double *restrict factor = factors + c * size;
        double rise = (log[width - 1] - log[0]) / (points[width - 1] - points[0]), base = log[0] - rise * points[0];
        double most = 0.0;
        int64_t within = 0;
        for (int64_t q = 0; q < width; q++) {
            factor[q] = log[q] - base - rise * points[q];
            most = larger(fabs(factor[q]), most);
            within += fabs(factor[q]) < range; /* nor is what is no number */
        }
        int usable = within == width;
        level[c] = usable ? base : 0.0;
        slope[c] = usable ? rise : 0.0;
        reach[c] = usable ? most : INFINITY;
        if (bend) {
            double down = 0.0;
            for (int64_t q = 1; q + 1 < width; q++)
                down = larger(2.0 * log[q] - log[q - 1] - log[q + 1], down);
            double step = points[1] - points[0];
            bend[c] = usable ? down / (step * step) : INFINITY;
        }
        for (int64_t q = usable ? width : 0; q < size; q++)
            factor[q] = 0.0;
        KERNEL(exponentials)(factor, size, 0.0);
    }
}

/* A product of rows with the students' distribution, its sum and its mean. */
typedef struct {
    double total, centre;
} Sums;

/* exp(tilt t_q) on equally spaced nodes: a geometric sequence, sixteen numbers from the sixteen before. */
typedef struct {
    four part[4];
    double sixteenth;
} Powers;

INLINE Powers powers_of(double start, double ratio) {
    double square = ratio * ratio, fourth = square * square, eighth = fourth * fourth;
    Powers powers;
    powers.part[0] = (four){start, start * ratio, start * square, start * ratio * square};
    powers.part[1] = powers.part[0] * fourth;
    powers.part[2] = powers.part[0] * eighth;
    powers.part[3] = powers.part[1] * eighth;
    powers.sixteenth = eighth * eighth;
    return powers;
}

/* joint <- a product of rows, with its sums: the students' distribution times powers of the nodes, where there are any, or
   else what `joint` was. Both `n` and whether there are powers are constants wherever this is called, so that nothing is
   left of the choice, and loops over rows are unrolled. */
INLINE Sums multiplied(
    double *joint, const double *const *rows, int n, Powers *powers, const Nodes *nodes
) {
    four total[4] = {{0.0}}, centre[4] = {{0.0}};
    for (int64_t q = 0; q < nodes->size; q += LANE) {
        for (int part = 0; part < 4; part++) {
            int64_t at = q + 4 * part;
            four product = load(powers ? nodes->weights + at : joint + at);
            if (powers)
                product *= powers->part[part];
            for (int row = 0; row < n; row++)
                product *= load(rows[row] + at);
            store(joint + at, product);
            total[part] += product;
            centre[part] += product * load(nodes->points + at);
            if (powers)
                powers->part[part] *= powers->sixteenth;
        }
    }
    return (Sums){
        sum_of((total[0] + total[1]) + (total[2] + total[3])),
        sum_of((centre[0] + centre[1]) + (centre[2] + centre[3])),
    };
}

/* The product of a student's rows, each as often as it counts. */
static Sums product_of(double *joint, const Pass *pass, int64_t n, Powers powers) {
    const Sparse *counts = &pass->counts;
    const Nodes *nodes = &pass->nodes;
    const double *rows[AT_ONCE];
    int waiting = 0, begun = 0;
    Sums sums = {0.0, 0.0};
    int64_t at = counts->indptr[n], end = counts->indptr[n + 1];
    double left = at < end ? counts->data[at] : 0.0;
    for (;;) {
        while (at < end && waiting < AT_ONCE) {
            if (left < 1.0) {
                at++;
                left = at < end ? counts->data[at] : 0.0;
                continue;
            }
            rows[waiting++] = pass->rows.factors + counts->indices[at] * nodes->size;
            left -= 1.0;
        }
        if (begun && waiting == 0)
            return sums;
        if (begun) {
            sums = multiplied(joint, rows, waiting, NULL, nodes);
        } else {
            switch (waiting) {
            case 1: sums = multiplied(joint, rows, 1, &powers, nodes); break;
            case 2: sums = multiplied(joint, rows, 2, &powers, nodes); break;
            case 3: sums = multiplied(joint, rows, 3, &powers, nodes); break;
            case 4: sums = multiplied(joint, rows, 4, &powers, nodes); break;
            case 5: sums = multiplied(joint, rows, 5, &powers, nodes); break;
            case 6: sums = multiplied(joint, rows, 6, &powers, nodes); break;
            case 7: sums = multiplied(joint, rows, 7, &powers, nodes); break;
            case 8: sums = multiplied(joint, rows, 8, &powers, nodes); break;
            default: sums = multiplied(joint, rows, 0, &powers, nodes);
            }
        }
        begun = 1;
        waiting = 0;
        if (at >= end)
            return sums;
    }
}

/* Add share times a posterior to the expected counts of one cell, or of two at a time. */
INLINE void add_one(double *row, double share, const double *joint, int64_t size) {
    for (int64_t q = 0; q < size; q += 4)
        store(row + q, load(row + q) + share * load(joint + q));
}

INLINE void add_two(double *one, double *two, double share, double other, const double *joint, int64_t size) {
    for (int64_t q = 0; q < size; q += 4) {
        four posterior = load(joint + q);
        store(one + q, load(one + q) + share * posterior);
        store(two + q, load(two + q) + other * posterior);
    }
}

/* Of a posterior: its variance, times its sum. */
INLINE double spread_of(const Pass *pass, const double *joint, double centre) {
    double spread = 0.0;
    for (int64_t q = 0; q < pass->nodes.size; q++) {
        double away = pass->nodes.points[q] - centre;
        spread += joint[q] * away * away;
    }
    return spread;
}

/* From a student's joint probabilities: its moments, its part of the expected counts, its posterior. */
static void settle(const Pass *pass, int64_t n, const double *joint, Sums sums) {
    const Found *found = &pass->found;
    const Sparse *counts = &pass->counts, *tilts = &pass->sums;
    int64_t size = pass->nodes.size;
    double often = pass->weight ? pass->weight[n] : 1.0, inverse = 1.0 / sums.total, centre = sums.centre * inverse;
    if (found->mean)
        found->mean[n] = centre;
    if (found->weighted)
        for (int64_t at = tilts->indptr[n]; at < tilts->indptr[n + 1]; at++)
            found->weighted[tilts->indices[at]] += often * tilts->data[at] * centre;
    if (found->expected) {
        int64_t at = counts->indptr[n], end = counts->indptr[n + 1];
        double each = often * inverse;
        for (; at + 1 < end; at += 2) {
            double *one = found->expected + counts->indices[at] * size;
            double *two = found->expected + counts->indices[at + 1] * size;
            if (one == two)
                add_one(one, each * (counts->data[at] + counts->data[at + 1]), joint, size);
            else
                add_two(one, two, each * counts->data[at], each * counts->data[at + 1], joint, size);
        }
        if (at < end)
            add_one(found->expected + counts->indices[at] * size, each * counts->data[at], joint, size);
    }
    if (found->sd)
        found->sd[n] = sqrt(larger(spread_of(pass, joint, centre) * inverse, 0.0));
    if (found->posterior) {
        double *posterior = found->posterior + (n - found->shown_first) * found->shown_width;
        for (int64_t q = 0; q < found->shown_width; q++)
            posterior[q] = joint[q] * inverse;
    }
}

/* The nodes that one in between is interpolated from, and with which weights: as many on either side, if there are. */
typedef struct {
    int64_t first;
    const double *weights;
} Place;

INLINE Place place_of(const Between *between, int64_t width, int64_t fine) {
    int64_t first = fine / between->parts - (STENCIL / 2 - 1);
    first = first > width - STENCIL ? width - STENCIL : first;
    first = first < 0 ? 0 : first;
    return (Place){first, between->weights + (fine - first * between->parts) * STENCIL};
}

/* Whether a posterior is too narrow for the nodes, as it looks on them. */
static int narrow(const Pass *pass, const double *joint, Sums sums) {
    return spread_of(pass, joint, sums.centre / sums.total) < pass->between.variance * sums.total;
}

/* A student's joint probabilities where nodes are too far apart for them, though not for the logarithms, which are smooth:
   these are interpolated in between, and what they become is brought back to the nodes by the same weights, so that
   averages of all that is as smooth stay what they are in between. `joint` is left alone where a logarithm is infinite.
   `fine` is scratch for all nodes in between. */
static Sums refined(const Pass *pass, const double *logs, double *top, double *fine, double *joint, Sums coarse) {
    const Between *between = &pass->between;
    int64_t width = pass->rows.width, low = 0, high = width - 1, parts = between->parts;
    while (logs[low] < *top - FALL)
        low++;
    while (logs[high] < *top - FALL)
        high--;
    low -= low > 0;
    high += high < width - 1;
    int64_t size = (high - low) * parts + 1;
    double highest = *top, whole = 0.0;
    for (int64_t i = 0; i < size; i++) {
        Place at = place_of(between, width, low * parts + i);
        double sum = 0.0;
        for (int k = 0; k < STENCIL; k++)
            sum += at.weights[k] * logs[at.first + k];
        fine[i] = sum;
        highest = larger(sum, highest);
        whole += sum;
    }
    if (!isfinite(whole))
        return coarse;
    KERNEL(exponentials)(fine, size, highest);
    Sums sums = {0.0, 0.0};
    double begin = pass->nodes.points[low], step = pass->nodes.step / (double)parts;
    for (int64_t i = 0; i < size; i++) {
        fine[i] /= (double)parts;
        sums.total += fine[i];
        sums.centre += fine[i] * (begin + step * (double)i);
    }
    for (int64_t q = 0; q < pass->nodes.size; q++)
        joint[q] = 0.0;
    for (int64_t i = 0; i < size; i++) {
        Place at = place_of(between, width, low * parts + i);
        for (int k = 0; k < STENCIL; k++)
            joint[at.first + k] += at.weights[k] * fine[i];
    }
    *top = highest;
    return sums;
}

/* A student's log-likelihood: kept where it is asked for, and returned as often as the student occurs. */
INLINE double told(const Pass *pass, int64_t n, double loglik) {
    if (pass->found.own)
        pass->found.own[n - pass->found.shown_first] = loglik;
    return pass->weight ? pass->weight[n] * loglik : loglik;
}

/* Returns the log-likelihood of the students from `first` to `last`. Those whose products might leave the range of
   doubles, or who are too narrow for the nodes, are put into `late`, whose first entry counts them. `joint` is scratch for a row of nodes. */
EXPORT double KERNEL(by_products)(const Pass *pass, int64_t first, int64_t last, int64_t *late, double *joint) {
    const Sparse *counts = &pass->counts, *sums = &pass->sums;
    const Rows *rows = &pass->rows;
    const Nodes *nodes = &pass->nodes;
    double lowest = nodes->points[0];
    double furthest = larger(fabs(lowest), fabs(lowest + nodes->step * (double)(nodes->size - 1)));
    double loglik = 0.0, constant[BATCH], ratio[BATCH], start[BATCH], total[BATCH], bend[BATCH];
    int64_t student[BATCH];
    for (int64_t n = first; n < last;) {
        int size = 0;
        for (; n < last && size < BATCH; n++) {
            double level = 0.0, tilt = 0.0, distance = 0.0, bent = 1.0;
            for (int64_t at = sums->indptr[n]; at < sums->indptr[n + 1]; at++)
                tilt += pass->linear[sums->indices[at]] * sums->data[at];
            for (int64_t at = counts->indptr[n]; at < counts->indptr[n + 1]; at++) {
                int32_t cell = counts->indices[at];
                double often = counts->data[at];
                level += often * rows->level[cell];
                tilt += often * rows->slope[cell];
                distance += often == floor(often) ? often * rows->reach[cell] : INFINITY;
                bent += rows->bend ? often * rows->bend[cell] : 0.0;
            }
            if (distance + fabs(tilt) * furthest < pass->range) {
                student[size] = n;
                constant[size] = level;
                bend[size] = bent;
                ratio[size] = tilt * nodes->step;
                start[size++] = tilt * lowest;
            } else {
                late[++late[0]] = n;
            }
        }
        KERNEL(exponentials)(ratio, size, 0.0);
        KERNEL(exponentials)(start, size, 0.0);
        int settled = 0;
        for (int i = 0; i < size; i++) {
            int64_t own = student[i];
            Sums found = product_of(joint, pass, own, powers_of(start[i], ratio[i]));
            /* No posterior is narrower than the logarithms' bend allows (Cramer and Rao). */
            if (bend[i] * pass->between.variance > 1.0 && narrow(pass, joint, found)) {
                late[++late[0]] = own;
                continue;
            }
            student[settled] = own;
            constant[settled] = constant[i];
            total[settled++] = found.total;
            settle(pass, own, joint, found);
        }
        KERNEL(logarithms)(total, settled);
        for (int i = 0; i < settled; i++)
            loglik += told(pass, student[i], constant[i] + total[i]);
    }
    return loglik;
}

/* The same by sums of logarithms, for the `n_students` that are named. `logs` is scratch for another row of nodes, `fine`
   for all nodes in between. */
EXPORT double KERNEL(by_logarithms)(
    const Pass *pass, const int64_t *students, int64_t n_students, double *joint, double *logs, double *fine
) {
    const Sparse *counts = &pass->counts, *sums = &pass->sums;
    const Nodes *nodes = &pass->nodes;
    int64_t size = nodes->size;
    double loglik = 0.0;
    for (int64_t i = 0; i < n_students; i++) {
        int64_t n = students[i];
        double tilt = 0.0;
        for (int64_t at = sums->indptr[n]; at < sums->indptr[n + 1]; at++)
            tilt += pass->linear[sums->indices[at]] * sums->data[at];
        for (int64_t q = 0; q < size; q++)
            logs[q] = nodes->log_weights[q] + tilt * nodes->points[q];
        for (int64_t at = counts->indptr[n]; at < counts->indptr[n + 1]; at++) {
            const double *row = pass->rows.logs + counts->indices[at] * pass->rows.width;
            for (int64_t q = 0; q < pass->rows.width; q++)
                logs[q] += counts->data[at] * row[q];
        }
        double top = logs[0];
        for (int64_t q = 1; q < size; q++)
            top = larger(top, logs[q]);
        for (int64_t q = 0; q < size; q++)
            joint[q] = logs[q];
        KERNEL(exponentials)(joint, size, top);
        Sums found = {0.0, 0.0};
        for (int64_t q = 0; q < size; q++) {
            found.total += joint[q];
            found.centre += joint[q] * nodes->points[q];
        }
        if (pass->between.parts > 1 && narrow(pass, joint, found))
            found = refined(pass, logs, &top, fine, joint, found);
        settle(pass, n, joint, found);
        loglik += told(pass, n, top + log(found.total));
    }
    return loglik;
}
