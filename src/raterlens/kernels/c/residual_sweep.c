/* Predictions averaged over posteriors. */

#include "kernels.h"

/* Nodes at either end that carry less of a posterior are passed over: tables are 1e12 there at most. */
#define CARRIES_NOTHING 1e-26

typedef struct {
    double mean, sd;
} Moments;

/* out[i] = sum_q weights[weight_i, q] table[row_i, q] */
EXPORT void KERNEL(averaged)(
    const double *restrict weights, const int64_t *restrict weight, const double *restrict table,
    const int32_t *restrict row, int64_t n, int64_t size, double *restrict out
) {
    for (int64_t i = 0; i < n; i++) {
        const double *restrict one = weights + weight[i] * size, *restrict two = table + row[i] * size;
        double total = 0.0;
        for (int64_t q = 0; q < size; q++)
            total += one[q] * two[q];
        out[i] = total;
    }
}

/* out[i] = sum_q weights[weight_i, q] sum_k prob[one_i, k, q] prob[two_i, k, q] */
EXPORT void KERNEL(agreeing)(
    const double *restrict weights, const int64_t *restrict weight, const double *restrict prob, int64_t n_scores,
    const int32_t *restrict one, const int32_t *restrict two, int64_t n, int64_t size, double *restrict out
) {
    for (int64_t i = 0; i < n; i++) {
        const double *restrict w = weights + weight[i] * size;
        double total = 0.0;
        for (int64_t k = 0; k < n_scores; k++) {
            const double *restrict a = prob + (one[i] * n_scores + k) * size;
            const double *restrict b = prob + (two[i] * n_scores + k) * size;
            for (int64_t q = 0; q < size; q++)
                total += w[q] * a[q] * b[q];
        }
        out[i] = total;
    }
}

/* out <- exp(log) / sum of it; its mean and standard deviation over t. */
INLINE Moments normalise(const double *restrict log, double *restrict out, const double *restrict t, int64_t size) {
    double top = log[0], total = 0.0, mean = 0.0, spread = 0.0;
    for (int64_t q = 0; q < size; q++) {
        top = larger(top, log[q]);
        out[q] = log[q];
    }
    KERNEL(exponentials)(out, size, top);
    for (int64_t q = 0; q < size; q++) {
        total += out[q];
        mean += out[q] * t[q];
    }
    double inverse = 1.0 / total;
    mean *= inverse;
    for (int64_t q = 0; q < size; q++) {
        out[q] *= inverse;
        spread += out[q] * (t[q] - mean) * (t[q] - mean);
    }
    return (Moments){mean, sqrt(spread)};
}

typedef struct {
    /* Ratings by pairs of a student and a rater, pairs by students. */
    const int64_t *first_pair, *first_rating, *order;
    const int32_t *context;
    const int16_t *given;
    int64_t n_ratings, n_pairs, n_judged;
    /* (contexts x scores, nodes) the first and third, (contexts, scores, nodes) the second, (contexts, nodes) the rest */
    const double *log_prob, *prob, *standardised, *mean, *variance, *kurtosis;
    int64_t n_scores, size;
    const double *t, *prior;
    int64_t n_priors;
    const double *prior_apart;
    /* (10, ratings), (4, pairs), (2, judged) */
    double *of_rating, *of_pair, *of_judged;
} Sweep;

/* Fill in what is found of the students from `first` to `last`, and their posteriors.

   `by_rater`: their pairs in the order of their raters, since the tables of all raters are larger than the cache.
   Scratch: `said` (pairs, nodes) zeros, `joint` (students, nodes), `whose` (pairs,), and three rows of nodes. */
EXPORT void KERNEL(sweep)(
    const Sweep *sweep, int64_t first, int64_t last, const int64_t *restrict by_rater, int64_t n_here,
    double *restrict said, double *restrict joint, int64_t *restrict whose, double *restrict scratch,
    double *restrict posterior
) {
    int64_t size = sweep->size, n_scores = sweep->n_scores, offset = sweep->first_pair[first];
    const double *restrict t = sweep->t;
    double *restrict without = scratch, *restrict cavity = scratch + size, *restrict away = scratch + 2 * size;
    for (int64_t place = 0; place < n_here; place++) {
        int64_t j = by_rater[place];
        double *restrict own = said + j * size;
        for (int64_t i = sweep->first_rating[offset + j]; i < sweep->first_rating[offset + j + 1]; i++) {
            int64_t at = sweep->order[i];
            const double *restrict row = sweep->log_prob + (sweep->context[at] * n_scores + sweep->given[at]) * size;
            for (int64_t q = 0; q < size; q++)
                own[q] += row[q];
        }
    }

    for (int64_t n = first; n < last; n++) {
        double *restrict own = joint + (n - first) * size;
        const double *restrict before = sweep->prior + (sweep->n_priors > 1 ? n : 0) * size;
        for (int64_t q = 0; q < size; q++)
            own[q] = before[q];
        for (int64_t p = sweep->first_pair[n]; p < sweep->first_pair[n + 1]; p++) {
            const double *restrict pair = said + (p - offset) * size;
            whose[p - offset] = n;
            for (int64_t q = 0; q < size; q++)
                own[q] += pair[q];
        }
        Moments found = normalise(own, posterior + (n - first) * size, t, size);
        sweep->of_judged[n] = found.mean;
        sweep->of_judged[sweep->n_judged + n] = found.sd;
    }

    for (int64_t place = 0; place < n_here; place++) {
        int64_t j = by_rater[place], p = offset + j, n = whose[j];
        const double *restrict own = posterior + (n - first) * size;
        double ability = sweep->of_judged[n];
        for (int64_t q = 0; q < size; q++) {
            without[q] = joint[(n - first) * size + q] - said[j * size + q];
            away[q] = 0.0;
        }
        if (sweep->prior_apart)
            for (int64_t q = 0; q < size; q++)
                without[q] += sweep->prior_apart[p * size + q] - sweep->prior[n * size + q];
        Moments apart = normalise(without, cavity, t, size);
        sweep->of_pair[2 * sweep->n_pairs + p] = apart.mean;
        sweep->of_pair[3 * sweep->n_pairs + p] = apart.sd;
        int64_t low = 0, high = size;
        while (low < high && own[low] < CARRIES_NOTHING && cavity[low] < CARRIES_NOTHING)
            low++;
        while (high > low && own[high - 1] < CARRIES_NOTHING && cavity[high - 1] < CARRIES_NOTHING)
            high--;
        int64_t whole = low + whole_lanes(high - low); /* lanes of vectors that would be empty cost nothing */
        high = whole < size ? whole : size;
        double squares = 0.0, deviations = 0.0, variances = 0.0;
        for (int64_t i = sweep->first_rating[p]; i < sweep->first_rating[p + 1]; i++) {
            int64_t at = sweep->order[i], c = sweep->context[at], cell = c * n_scores + sweep->given[at];
            const double *restrict m = sweep->mean + c * size, *restrict v = sweep->variance + c * size;
            const double *restrict k = sweep->kurtosis + c * size, *restrict s = sweep->standardised + cell * size;
            const double *restrict chance = sweep->prob + cell * size;
            double y = (double)sweep->given[at];
            double e = 0.0, ev = 0.0, em2 = 0.0, es = 0.0, ek = 0.0, et = 0.0, f = 0.0, f2 = 0.0, ec = 0.0;
            for (int64_t q = low; q < high; q++) {
                double w = own[q], wm = own[q] * m[q], x = cavity[q];
                e += wm;
                em2 += wm * m[q];
                et += wm * t[q];
                ev += w * v[q];
                es += w * s[q];
                ek += w * k[q];
                f += x * m[q];
                f2 += x * (v[q] + m[q] * m[q]);
                ec += x * chance[q];
                away[q] += y - m[q];
            }
            double square = y * y - 2.0 * y * e + em2;
            squares += square;
            deviations += sqrt(ev);
            variances += ev;
            double *restrict out = sweep->of_rating + at;
            int64_t next = sweep->n_ratings;
            out[0] = e;
            out[next] = ev;
            out[2 * next] = square;
            out[3 * next] = es;
            out[4 * next] = ek;
            out[5 * next] = y - e;
            out[6 * next] = y * ability - et;
            out[7 * next] = ec;
            out[8 * next] = f;
            out[9 * next] = f2 - f * f;
        }
        double total = 0.0;
        for (int64_t q = low; q < high; q++)
            total += own[q] * away[q] * away[q];
        sweep->of_pair[p] = total - squares;
        sweep->of_pair[sweep->n_pairs + p] = deviations * deviations - variances;
    }
}
