"""One worker against two: evaluations in turn on both clusters, then whole fits, one of them with a worker killed.

Clusters are processes of this machine, one thread each. Wall time of a busy machine says little, so that each line also
has the CPU time of the workers, and what an evaluation takes beyond the busiest of them: the caller's own part, the
scheduler, and waiting.
"""

import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.say import least, say
from benchmarks.speed.likelihood import Likelihood, warm_up
from raterlens.ratings.packed import StoredRatings, open_packed

ROUNDS, NODES, KILLED_AT = 7, 58, 8


def workers(path: Path, *, fits: bool) -> None:
    """Packed ratings on one worker and on two; `fits` for whole fits, too, which take some 50 times as long."""
    ratings = StoredRatings(open_packed(path))
    with ExitStack() as stack:
        one, two = (_client(stack, n) for n in (1, 2))
        for client in (one, two):
            warm_up(client)
        _evaluations(ratings, {"one worker": one, "two workers": two})
        if fits:
            alone, both = _fit(ratings, one, "one worker"), _fit(ratings, two, "two workers")
            killed = _fit(ratings, two, "two workers, one killed", KILLED_AT)
            say(fit="ratio", speed_up=alone / both, cost_of_a_killed_worker=killed / both - 1)


def _client(stack: ExitStack, n: int) -> Any:
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=n, threads_per_worker=1, processes=True, dashboard_address=":0")
    return stack.enter_context(Client(stack.enter_context(cluster)))


def _evaluations(ratings: StoredRatings, clients: dict[str, Any]) -> None:
    """The likelihood and its gradient, on each cluster in turn; the best of several."""
    likelihoods = {name: Likelihood.of(ratings, NODES, client) for name, client in clients.items()}
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in clients}
    for _ in range(ROUNDS):
        for name, likelihood in likelihoods.items():
            seen[name].append(_measured(clients[name], likelihood.evaluate, likelihood.problem.engine))
    fastest = {name: least(found) for name, found in seen.items()}
    for name, found in fastest.items():
        say(evaluation=name, ratings=ratings.n_ratings, nodes=NODES, load=os.getloadavg()[0], **found)
    one, two = fastest.values()
    overhead = two["beyond_the_busiest"]
    say(
        evaluation="ratio",
        speed_up=one["wall"] / two["wall"],
        by_cpu_of_the_busiest=one["busiest"] / two["busiest"],
        by_cpu_and_overhead=(one["busiest"] + overhead) / (two["busiest"] + overhead),
    )


def _measured(client: Any, evaluate: Callable[[], Any], engine: Any) -> dict[str, float]:
    inside, whole = 0.0, engine.evaluate

    def watched(*args: Any) -> Any:
        nonlocal inside
        start = perf_counter()
        found = whole(*args)
        inside = perf_counter() - start
        return found

    engine.evaluate = watched
    before, own, start = client.run(process_time), process_time(), perf_counter()
    evaluate()
    wall, own, after = perf_counter() - start, process_time() - own, client.run(process_time)
    engine.evaluate = whole
    busy = [after[worker] - before[worker] for worker in before]
    return {
        "wall": wall,
        "workers_cpu": sum(busy),
        "busiest": max(busy),
        "beyond_the_busiest": wall - max(busy),
        "of_that_the_caller": wall - inside,
        "caller_and_scheduler_cpu": own,
    }


def _fit(ratings: StoredRatings, client: Any, name: str, kill_at: int | None = None) -> float:
    import raterlens as rl

    steps: list[float] = []

    def on_progress(progress: Any) -> None:
        steps.append(perf_counter())
        if len(steps) == kill_at:
            process = client.run(os.getpid)
            os.kill(process[min(process)], signal.SIGKILL)

    before, own, start = client.run(process_time), process_time(), perf_counter()
    fit = rl.fit(ratings, model="gmf", client=client, progress=on_progress)
    wall, own, after = perf_counter() - start, process_time() - own, client.run(process_time)
    assert kill_at is None or len(steps) > kill_at
    say(
        fit=name,
        ratings=ratings.n_ratings,
        wall=wall,
        until_the_first_step=steps[0] - start,
        steps=steps[-1] - steps[0],
        after_the_last_step=start + wall - steps[-1],
        # Of a worker that was killed nobody knows.
        workers_cpu=sum(after.values()) - sum(before.values()) if kill_at is None else None,
        caller_and_scheduler_cpu=own,
        evaluations=fit.optimiser.evaluations,
        load=os.getloadavg()[0],
        loglik=fit.loglik,
        kappa_sum=float(fit.table("raters")["kappa"].sum()),
    )
    return wall
