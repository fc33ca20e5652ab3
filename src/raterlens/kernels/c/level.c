/* Which of the compiled levels the processor can run: 3 where it has the instructions of x86-64-v3, 1 everywhere. */

#include "kernels.h"

EXPORT int raterlens_level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        return 3;
#endif
    return 1;
}
