"""Faults put into C: where code is, and nothing but one word of it changed."""

from audit.kernel_mutants import faults, other

TEXT = """/* 1 + 2 */
#define LANE 16
static const int64_t MOST = 3;
int64_t sum(const double *x, int64_t n) {
    for (int64_t q = 0; q < n; q++) /* 4 */
        x[q] += 1.5 * q;
    return 1e-300 * n;
}
"""


def test_operators_and_numbers_of_the_code_are_changed_one_at_a_time():
    found = list(faults("sum.c", TEXT))
    assert [(fault.before, fault.after) for fault in found] == [
        ("0", "1"),
        ("<", "<="),
        ("+=", "-="),
        ("1.5", "2.5"),
        ("*", "/"),
    ]
    assert found[1].put_into(TEXT) == TEXT.replace("q < n", "q <= n")
    assert found[3].told(TEXT) == "sum.c:6\n  - x[q] += 1.5 * q;\n  + x[q] += 2.5 * q;"


def test_a_loop_left_is_gone_on_with():
    assert other("break") == "continue"
    assert other("continue") == "break"
