"""Do the tests notice faults put into the kernels? `python -m audit.kernel_mutants --sample 20 --seed 1`.

As `audit.mutants`, for C: another operator, another bound, another number, in the text. Compiled as for users first;
what the tests do not notice there, they are given again with sanitizers, since a fault may only leave an array.
"""

import argparse
import os
import random
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from audit.mutants import HERE
from audit.near_tests import TOO_LONG
from audit.sanitized import TESTS, compile_with_checks, copied, with_checks
from hatch_build import LIBRARY, SOURCES, compile_kernels

NO_CODE = re.compile(r"/\*.*?\*/|^#.*?$|^(?:static const|enum|typedef).*?;$", re.DOTALL | re.MULTILINE)
"""Comments, what the preprocessor reads, and constants, which divide work or set an accuracy."""
OPERATORS = {
    **{"+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="},
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"},
}
FAULT = re.compile(
    r"(?<= )(?:" + "|".join(map(re.escape, sorted(OPERATORS, key=len, reverse=True))) + r")(?= )"
    r"|(?<![\w.])\d+(?:\.\d+)?(?![\w.])|\b(?:continue|break)\b"
)
"""Operators between blanks (the star of a pointer is not), numbers, and words."""

SET_ASIDE = {
    "__get_cpuid": "which instructions the processor has",
    "return 1;": "the same",
    "% 8 == 7": "how often products are brought back into range",
    "stride_for": "how few nodes do: the sums are the same within their accuracy",
    "1e-300": "where a probability is 0",
    "double furthest = larger": "how soon the long way is taken: the sums are the same",
    "fabs(factor[q]) < range": "equality with a bound",
}
"""Lines where a fault changes nothing that anybody could see, and why."""


class Fault(NamedTuple):
    source: str
    at: int
    before: str
    after: str

    def put_into(self, text: str) -> str:
        return text[: self.at] + self.after + text[self.at + len(self.before) :]

    def told(self, text: str) -> str:
        """Its place, and its line before and after."""
        faulty = self.put_into(text)
        number = text.count("\n", 0, self.at)
        lines = [words.splitlines()[number].strip() for words in (text, faulty)]
        return f"{self.source}:{number + 1}\n  - {lines[0]}\n  + {lines[1]}"


def other(word: str) -> str:
    if word in OPERATORS:
        return OPERATORS[word]
    if word in ("continue", "break"):
        return "break" if word == "continue" else "continue"
    return f"{float(word) + 1}" if "." in word else f"{int(word) + 1}"


def faults(source: str, text: str) -> Iterator[Fault]:
    """All that could be put into a source."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    for found in FAULT.finditer(code):
        line = text[text.rfind("\n", 0, found.start()) + 1 : text.find("\n", found.start())]
        if not any(words in line for words in SET_ASIDE):
            yield Fault(source, found.start(), found.group(), other(found.group()))


def limit_time() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (TOO_LONG, TOO_LONG))


def noticed(fault: Fault, folder: Path) -> bool:
    """Compile with it, and run the tests, the nearest first."""
    sources = folder / SOURCES
    for path in (HERE / SOURCES).iterdir():
        text = path.read_text()
        (sources / path.name).write_text(fault.put_into(text) if path.name == fault.source else text)
    stem, every = Path(fault.source).stem, sorted((HERE / "tests/kernels").glob("test_*.py"))
    near = [*(str(path) for path in every if stem in path.read_text()), *TESTS]
    for compiled, checks in ((compile_kernels, {}), (compile_with_checks, with_checks())):
        try:
            compiled(sources, folder / LIBRARY)
        except subprocess.CalledProcessError:
            return True
        if tests_fail(near, folder, checks):
            return True
    return False


def tests_fail(tests: list[str], folder: Path, checks: dict[str, str]) -> bool:
    environment = os.environ | {"PYTHONPATH": str(folder / SOURCES.parents[2]), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests],
        cwd=HERE,
        env=environment | checks,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=limit_time,
    )
    return done.returncode != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    texts = {path.name: path.read_text() for path in sorted((HERE / SOURCES).glob("*.c"))}
    found = [fault for source, text in texts.items() for fault in faults(source, text)]
    drawn = random.Random(given.seed).sample(found, min(given.sample, len(found)))
    missed = 0
    with TemporaryDirectory() as folder:
        copied(Path(folder))
        for fault in drawn:
            if not noticed(fault, Path(folder)):
                missed += 1
                print(f"not noticed: {fault.told(texts[fault.source])}\n", flush=True)
    print(
        f"kernels: {len(drawn) - missed} of {len(drawn)} faults noticed, of {len(found)} that could be put in"
    )


if __name__ == "__main__":
    main()
