/* Which of the compiled levels the processor can run: 3 where it has the instructions of x86-64-v3, 1 everywhere. */

#include "kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { FMA = 1u << 12, MOVBE = 1u << 22, OSXSAVE = 1u << 27, AVX = 1u << 28, F16C = 1u << 29 };
enum { BMI1 = 1u << 3, AVX2 = 1u << 5, BMI2 = 1u << 8, LZCNT = 1u << 5 };
/* The halves of a vector that the operating system keeps when it goes from one program to another. */
enum { VECTORS = 6 };

static int has(unsigned int found, unsigned int wanted) { return (found & wanted) == wanted; }

EXPORT int raterlens_level(void) {
    unsigned int a, b, c, d, kept, above;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, FMA | MOVBE | OSXSAVE | AVX | F16C))
        return 1;
    __asm__ volatile("xgetbv" : "=a"(kept), "=d"(above) : "c"(0));
    if (!has(kept, VECTORS) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, BMI1 | AVX2 | BMI2))
        return 1;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && has(c, LZCNT) ? 3 : 1;
}
#else
EXPORT int raterlens_level(void) { return 1; }
#endif
