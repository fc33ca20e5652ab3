/* What all kernels share.

   Kernels are plain loops over arrays that NumPy owns: they allocate nothing, keep nothing, and know nothing of Python.
   Every file is compiled once per level of the processor, and a kernel's name ends in the level it was compiled for. */

#include <math.h>
#include <stdint.h>

#define JOINED(name, level) name##_##level
#define NAMED(name, level) JOINED(name, level)
#define KERNEL(name) NAMED(name, LEVEL)

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define INLINE static inline __attribute__((always_inline))

/* Rows of nodes are padded to whole blocks of this many numbers. */
enum { LANE = 16 };

/* Four doubles at any address: one register where the processor has such, several where it has smaller ones. */
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

INLINE four load(const double *from) { return *(const four *)from; }
INLINE void store(double *to, four numbers) { *(four *)to = numbers; }
INLINE double sum_of(four numbers) { return (numbers[0] + numbers[1]) + (numbers[2] + numbers[3]); }
INLINE double larger(double one, double other) { return one > other ? one : other; }
INLINE int64_t whole_lanes(int64_t size) { return (size + LANE - 1) / LANE * LANE; }

/* Where weights at nodes begin and end, without those at either end that are so small that no score comes near their
   inverse. */
typedef struct {
    int64_t low, high;
} Carried;

INLINE Carried carried_by(const double *weight, int64_t size) {
    const double nothing = 1e-26;
    Carried at = {0, size};
    while (at.low < at.high && fabs(weight[at.low]) < nothing)
        at.low++;
    while (at.low < at.high && fabs(weight[at.high - 1]) < nothing)
        at.high--;
    return at;
}

/* log(1 + y) for 0 <= y <= 1: 2 artanh(u), a series in u^2, which is at most 1/9: this many terms are exact to rounding. */
INLINE double log_one_more(double y) {
    double u = y / (2.0 + y), v = u * u;
    double p = 1.0 / 33.0;
    p = p * v + 1.0 / 31.0;
    p = p * v + 1.0 / 29.0;
    p = p * v + 1.0 / 27.0;
    p = p * v + 1.0 / 25.0;
    p = p * v + 1.0 / 23.0;
    p = p * v + 1.0 / 21.0;
    p = p * v + 1.0 / 19.0;
    p = p * v + 1.0 / 17.0;
    p = p * v + 1.0 / 15.0;
    p = p * v + 1.0 / 13.0;
    p = p * v + 1.0 / 11.0;
    p = p * v + 1.0 / 9.0;
    p = p * v + 1.0 / 7.0;
    p = p * v + 1.0 / 5.0;
    p = p * v + 1.0 / 3.0;
    return 2.0 * u * (p * v + 1.0);
}

/* exponential.c */
void KERNEL(exponentials)(double *x, int64_t size, double top);
void KERNEL(logarithms)(double *x, int64_t size);
