"""Students on the workers of a Dask cluster: an evaluation sends tables out and gets counts back.

Parts of the students are built once, on the workers, and stay there. Their number depends on the data alone, and counts
are added up in a fixed tree, so that the number of workers and who did what leave no trace in the result. When a worker
dies, its parts are built again from where they came from (the packed file, or the memory of the caller) and the
evaluation is repeated.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from raterlens.base.arrays import Array, Indices
from raterlens.base.atomic_files import reason
from raterlens.base.errors import InputError, RaterlensError
from raterlens.base.processes import (
    ClusterLostError,
    addresses,
    broadcast,
    check_alive,
    identity,
    is_cluster_failure,
    placements,
    result,
)
from raterlens.base.threads import one_thread
from raterlens.likelihood.cells import Grouped, Grouping, Kinds, grouped_by
from raterlens.likelihood.engines.contract import CellScores, Expected, Matrix, Summed, Tables, Weighting
from raterlens.likelihood.engines.disk import Part, add, among, bound_part
from raterlens.likelihood.nodes import Moments, Nodes
from raterlens.models.term import Contexts
from raterlens.ratings.coded import Codes, Ratings
from raterlens.ratings.packed import StoredRatings, open_packed, part_edges

if TYPE_CHECKING:
    from distributed import Client, Future


# Ratings of a part, and how many parts at least and at most: few enough to send little, enough to share out evenly.
_PART, _LEAST, _MOST = 2**22, 8, 64
# Parts whose results are added up by one task.
_FAN = 8
# An evaluation is repeated this often where workers die during it.
_ATTEMPTS = 10


@dataclass(frozen=True, slots=True, eq=False)
class OnFile:
    """Students of a packed file, for workers that can open it."""

    path: Path
    checksum: int
    places: NDArray[np.int16] | None
    first: int
    last: int
    answered: bool = False
    """Whether known answers are to be ratings."""

    def ratings(self) -> Ratings:
        try:
            packed = open_packed(self.path)
        except OSError as error:
            raise InputError(
                f"a worker cannot open {str(self.path)!r} ({reason(error)})",
                "put it where all workers find it under this name",
                value=self.path,
            ) from error
        if packed.checksum != self.checksum:
            raise InputError(
                f"{str(self.path)!r} is not the same file for a worker as here",
                "copy it there again",
                value=self.path,
            )
        return StoredRatings(packed, self.places, answered=self.answered).part(self.first, self.last)


class DaskEngine:
    """Evaluates tables where the students are."""

    def __init__(
        self, client: "Client", parts: "list[Future]", again: "Callable[[int], Future]", sizes: Sequence[int]
    ) -> None:
        """
        Parameters
        ----------
        again
            Builds a part from its source once more.
        sizes
            Students of each part.
        """
        self._client, self._parts, self._again, self._sizes = client, parts, again, sizes
        self._placed_on = addresses(client)

    @property
    def n_students(self) -> int:
        return sum(self._sizes)

    def evaluate(self, tables: Tables, nodes: Nodes) -> Expected:
        found: Expected = self._reduced(_added, "evaluate", tables=tables, nodes=nodes)
        return found

    def moments(self, tables: Tables, nodes: Nodes, *, pieces: bool = False) -> Moments:
        return Moments.joined(self._gathered("moments", tables=tables, nodes=nodes, pieces=pieces))

    def scores(self, tables: Tables, nodes: Nodes, scores: CellScores, weights: Weighting) -> Summed:
        sent = {"tables": tables, "nodes": nodes, "scores": scores, "weights": weights}
        return Summed.joined(self._gathered("scores", **sent))

    def covariance(self, tables: Tables, nodes: Nodes, scores: CellScores) -> Matrix:
        return self._reduced(_summed, "covariance", tables=tables, nodes=nodes, scores=scores)

    def posteriors(self, tables: Tables, nodes: Nodes) -> Iterator[tuple[slice, Array, Array]]:
        """Here, not on the workers: parts come over one by one."""
        edges = np.concatenate([[0], np.cumsum(self._sizes)])
        for which, (first, last) in enumerate(pairwise(edges)):
            part: Part = self._persistently(partial(self._fetched, which))
            for rows, posterior, loglik in part.posteriors(tables, nodes):
                yield slice(first + rows.start, min(first + rows.stop, last)), posterior, loglik

    def _fetched(self, which: int) -> Part:
        part: Part = result(self._client, self._parts[which])
        return part

    def _mapped(self, verb: str, sent: dict[str, Any]) -> "list[Future]":
        self._spread_out()
        everywhere = broadcast(self._client, (verb, sent))
        return list(self._client.map(_done, self._parts, sent=everywhere, pure=False))

    def _gathered(self, verb: str, **sent: Any) -> list[Any]:
        """Results of the parts, in their order."""
        return list(self._persistently(lambda: self._client.gather(self._mapped(verb, sent), errors="raise")))

    def _reduced(self, plus: Callable[[list[Any]], Any], verb: str, **sent: Any) -> Any:
        """Work on every part, added up in a tree whose form depends on the number of parts alone."""

        def attempt() -> Any:
            level = self._mapped(verb, sent)
            while len(level) > 1:
                level = self._client.map(
                    plus, [level[at : at + _FAN] for at in range(0, len(level), _FAN)], pure=False
                )
            return result(self._client, level[0])

        return self._persistently(attempt)

    def _spread_out(self) -> None:
        """Share the parts out again where workers came or went. Those of a worker that died are built again by the ones
        that are left, and would stay there when another takes its place."""
        now = addresses(self._client)
        if now == self._placed_on or any(part.status != "finished" for part in self._parts):
            return
        holders, strayed = self._client.who_has(self._parts), False
        for which, home in enumerate(placements(self._client, len(self._parts))):
            part = self._parts[which]
            if home and home["workers"][0] not in holders[part.key]:
                self._parts[which], strayed = self._client.submit(identity, part, pure=False, **home), True
        # Looked at once more: where to go is a wish, and a worker that has just come may not have been ready.
        if not strayed:
            self._placed_on = now

    def _persistently(self, attempt: Callable[[], Any]) -> Any:
        """Repeat what failed because a worker died, once the parts that died with it are built again."""
        for remaining in reversed(range(_ATTEMPTS)):
            try:
                return attempt()
            except (RaterlensError, ClusterLostError):
                raise
            except Exception as error:
                if not remaining or not is_cluster_failure(error):
                    raise
                check_alive(self._client)
                self._restore()
        raise AssertionError

    def _restore(self) -> None:
        """Build the parts again that no worker has, and none is about to have."""
        for which, part in enumerate(self._parts):
            if part.status != "pending" and not _held(self._client, part):
                self._parts[which] = self._again(which)


def on_cluster(
    client: "Client", ratings: Ratings, contexts: Contexts, grouping: Grouping, *, pieces: bool = False
) -> tuple[DaskEngine, Kinds | None]:
    """An engine on the workers, and what kinds its cells are. `pieces`: a student's pieces of work differ."""
    if not isinstance(ratings, StoredRatings):
        found, student = grouped_by(ratings, contexts, grouping, pieces)
        return _from_memory(client, found, ratings, student), found.kinds
    sources, model = _on_file(ratings), broadcast(client, (contexts, grouping, pieces))
    # Which kinds there are is known when all parts have been looked at; parts then learn the places of theirs.
    built = [
        client.submit(_bound, source, model, pure=False, **home)
        for source, home in zip(sources, placements(client, len(sources)), strict=True)
    ]
    whole = Kinds.merged(client.gather([client.submit(_own_kinds, one, pure=False) for one in built]))
    known = broadcast(client, whole)
    parts = [client.submit(_among, one, known, pure=False) for one in built]

    def build(which: int) -> "Future":
        return client.submit(_placed, sources[which], model, known, pure=False)

    return DaskEngine(client, parts, build, [source.last - source.first for source in sources]), whole


def _on_file(ratings: StoredRatings) -> list[OnFile]:
    packed = ratings.packed
    return [
        OnFile(
            packed.path.resolve(), packed.checksum, ratings.places, int(first), int(last), ratings.answered
        )
        for first, last in pairwise(_edges(ratings.offsets))
    ]


def _edges(offsets: Indices) -> Indices:
    whole = int(offsets[-1])
    return part_edges(offsets, min(max(_PART, whole // _MOST), max(1, whole // _LEAST)))


def _from_memory(client: "Client", found: Grouped, ratings: Ratings, student: Codes | None) -> DaskEngine:
    """Parts of what is in memory here, which stays the source of those that get lost. `student` of each row, where rows
    are pieces."""
    offsets = np.concatenate([[0], np.cumsum(ratings.tally("student").n)])
    parts, sums = [], found.sums
    for first, last in pairwise(_edges(offsets)):
        rows = slice(first, last) if student is None else slice(*np.searchsorted(student, [first, last]))
        own = None if student is None else student[rows] - student[rows.start]
        parts.append(Part.of(found.counts[rows], None if sums is None else sums[rows], own))

    def send(which: int) -> "Future":
        return broadcast(client, parts[which])

    where = [home.get("workers") for home in placements(client, len(parts))]
    sent = [client.scatter(part, workers=home, hash=False) for part, home in zip(parts, where, strict=True)]
    return DaskEngine(client, sent, send, [part.n_students for part in parts])


def _held(client: "Client", future: "Future") -> bool:
    """Whether a worker that is alive has it."""
    return future.status == "finished" and bool(client.who_has([future]).get(future.key))


# --------------------------------------------------------------------------------------------- on a worker


def _bound(source: OnFile, shared: tuple[Contexts, Grouping, bool]) -> tuple[Part, Kinds | None]:
    return bound_part(source.ratings(), *shared)


def _own_kinds(built: tuple[Part, Kinds | None]) -> Kinds | None:
    return built[1]


def _among(built: tuple[Part, Kinds | None], whole: Kinds | None) -> Part:
    return among(whole, *built)


def _placed(source: OnFile, shared: tuple[Contexts, Grouping, bool], whole: Kinds | None) -> Part:
    return _among(_bound(source, shared), whole)


# One thread, so that sums have one order; a worker's threads take parts side by side.


def _done(part: Part, sent: tuple[str, Any]) -> Any:
    """Call a verb of a part with these arguments."""
    verb, arguments = sent
    with one_thread():
        return getattr(part, verb)(**arguments)


def _added(found: Sequence[Expected]) -> Expected:
    return reduce(add, found)


def _summed(found: Sequence[Matrix]) -> Matrix:
    return reduce(operator.add, found)
