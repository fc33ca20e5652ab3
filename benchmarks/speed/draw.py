"""Large tables of ratings, drawn in chunks straight to parquet: memory stays that of a chunk.

`python -m benchmarks.speed.draw FILE STUDENTS RATERS ITEMS RATERS_PER_STUDENT [SEED]`
"""

import sys
from pathlib import Path

import numpy as np

_CHUNK = 250_000


def draw(path: Path, students: int, raters: int, items: int, per_student: int, seed: int = 0) -> None:
    """Ratings of the GMF, one row per rating, in the order of the students; whether two raters of a student are
    neighbours is chance."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(seed)
    slope = np.exp(0.3 * random.standard_normal(raters))
    severity, difficulty = random.standard_normal(raters), np.linspace(-1, 1, items)
    names = [pa.array([f"{kind}{i:05}" for i in range(n)]) for kind, n in (("r", raters), ("i", items))]
    kind = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("student", pa.int32()), ("rater", kind), ("item", kind), ("score", pa.int8())])
    draft = path.with_suffix(".draft")  # so that a run that is stopped leaves no half of a file
    with pq.ParquetWriter(draft, schema) as writer:
        for first in range(0, students, _CHUNK):
            n = min(_CHUNK, students - first)
            ability = random.standard_normal(n)
            # Distinct raters of a student: steps of at least one, from a first rater.
            start, steps = (
                random.integers(raters, size=n),
                random.integers(1, max(2, raters // per_student), (n, per_student)),
            )
            rater = (start[:, None] + np.cumsum(steps, axis=1)) % raters
            reach = slope[rater] * ability[:, None] - severity[rater]
            chance = 1 / (1 + np.exp(difficulty - reach[:, :, None]))
            score = (random.random(chance.shape) < chance).astype(np.int8)
            columns = [
                pa.array(np.repeat(np.arange(first, first + n, dtype=np.int32), per_student * items)),
                pa.DictionaryArray.from_arrays(np.repeat(rater.ravel(), items).astype(np.int32), names[0]),
                pa.DictionaryArray.from_arrays(
                    np.tile(np.arange(items, dtype=np.int32), n * per_student), names[1]
                ),
                pa.array(score.ravel()),
            ]
            writer.write_table(pa.table(columns, schema=schema))
    draft.replace(path)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), *(int(number) for number in sys.argv[2:]))
