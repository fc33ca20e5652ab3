"""Drift alarms: how often false, how late? `python -m benchmarks.truth.alarm_rates [--streams 4000] [--exams 60]`.

- streams without drift: passes and fails of one rater, looked at 1,000 times; how often does evidence ever reach the
  line of panels of 1, 10 and 40 raters? Also with normal scores, as Brownian motion has them, up to 2,400 ratings;
- a shift of 1 logit: ratings after it until the alarm, beside those that tests need which look once, at the end, for
  the same raters and moments: by Bonferroni over raters and moments, and by the exact distribution of their maximum
  (over moments), Bonferroni over raters;
- whole exams (10 raters, two readings per student, three items), fitted again at every look: false alarms without
  drift, and how often and how early a rater is found who becomes 1 logit more severe half-way.
"""

import argparse
from dataclasses import replace

import numpy as np
from numpy.random import Generator, default_rng
from scipy.stats import norm

import raterlens as rl
from raterlens.diagnostics.drift import ALARM_LEVEL, Earlier, Stream, drift_alarms, evidence, threshold
from raterlens.diagnostics.residuals import residuals
from raterlens.ratings.coded import Codes

RATERS = 10
LOOKS, STUDENTS = 12, 1200
INFORMATION = 0.16
"""Information of one pass/fail rating."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=4000)
    parser.add_argument("--exams", type=int, default=60)
    options = parser.parse_args()
    _without_drift(options.streams)
    for earlier, before in ((600, 300), (0, 600), (0, 1200)):
        _with_shift(earlier, before, max(options.streams // 10, 20))
    if options.exams:
        _exams(options.exams)


def _stream(random: Generator, length: int, shift_at: int | None = None) -> Stream:
    logit = 1.5 * random.standard_normal(length)
    chance = 1 / (1 + np.exp(-logit))
    if shift_at is not None:
        logit[shift_at:] -= 1.0
    passed = random.random(length) < 1 / (1 + np.exp(-logit))
    return Stream(passed - chance, chance * (1 - chance), np.arange(length))


def _brownian(random: Generator, length: int) -> Stream:
    return Stream(
        np.sqrt(INFORMATION) * random.standard_normal(length), np.full(length, INFORMATION), np.arange(length)
    )


def _without_drift(streams: int) -> None:
    random = default_rng(1)
    for name, made, length in (("passes and fails", _stream, 1000), ("normal scores", _brownian, 2400)):
        most = np.array([evidence(made(random, length)).value.max() for _ in range(streams)])
        for raters in (1, 10, 40):
            ever = np.mean(most >= threshold(raters))
            whole, error = raters * ever, raters * np.sqrt(ever * (1 - ever) / streams)
            print(
                f"{name}, {length:,} looks, {raters} raters: false alarm in {whole:.1%} of exams (+-{2 * error:.1%})"
            )


def _with_shift(earlier: int, before: int, streams: int) -> None:
    """After `before` ratings, of a rater about whom an earlier fit knows as much as `earlier` ratings say."""
    random = default_rng([2, earlier, before])
    after, known = 500, INFORMATION * earlier
    made = [_stream(random, before + after, before) for _ in range(streams)]
    apart = random.standard_normal(streams) / np.sqrt(max(known, 1e-9))
    delays = []
    for stream, gap in zip(made, apart, strict=True):
        found = evidence(stream, earlier=Earlier(gap, 1 / known) if known else None)
        due = np.flatnonzero((found.value >= threshold(RATERS)) & (found.until >= before))
        delays.append(found.until[due[0]] + 1 - before if len(due) else np.inf)
    lengths = np.unique(np.geomspace(20, after, 30).astype(int))
    moments = (before + 100) * INFORMATION / 2  # as many as the alarm distinguishes by then
    still = [
        _scan(_stream(random, before + 100), random.standard_normal() / np.sqrt(known or 1), known)
        for _ in range(4000)
    ]
    lines = {
        "Bonferroni": norm.isf(ALARM_LEVEL / RATERS / moments / 2),
        "exact maximum": np.quantile(still, 1 - ALARM_LEVEL / RATERS),
    }
    ours = np.quantile(delays, [0.5, 0.8], method="nearest")
    text = f"1 logit after {earlier} earlier and {before} ratings: alarm within {ours[0]:.0f}, {ours[1]:.0f} (50, 80 %)"
    for name, line in lines.items():
        power = [
            np.mean([_scan(_head(s, before + n), a, known) >= line for s, a in zip(made, apart, strict=True)])
            for n in lengths
        ]
        a, b = (float(np.interp(q, power, lengths)) for q in (0.5, 0.8))
        text += f"; {name} {a:.0f}, {b:.0f} ({ours[0] / a:.2f}, {ours[1] / b:.2f} times)"
    print(text, flush=True)


def _head(stream: Stream, n: int) -> Stream:
    return Stream(stream.score[:n], stream.information[:n], stream.time[:n])


def _scan(stream: Stream, apart: float, known: float) -> float:
    """The largest change, in standard errors, over all moments but the first and last 5 %."""
    u, v = np.cumsum(stream.score), np.cumsum(stream.information)
    j = np.arange(len(u) // 20, len(u) - len(u) // 20)
    after, before = v[-1] - v[j], v[j] + known
    gap = (u[-1] - u[j]) / after - (u[j] - apart * known) / before
    return float(np.max(np.abs(gap) / np.sqrt(1 / after + 1 / before)))


def _exams(exams: int) -> None:
    false, found, early = 0, 0, []
    for exam in range(exams):
        for drifting in (False, True):
            ratings, time = _exam(exam, drifting)
            at = _first_alarm(ratings, time)
            if drifting:
                found += at.get("R01") is not None
                early += [at["R01"]] if "R01" in at else []
            else:
                false += bool(at)
    print(
        f"{exams} exams of {STUDENTS:,} students, fitted again at {LOOKS} looks: false alarm in {false / exams:.1%}"
    )
    late = np.quantile(early, 0.5) if early else np.nan
    print(
        f"1 logit more severe half-way: found in {found / exams:.0%}, half of them by look {late:.0f} of {LOOKS}"
    )


def _exam(exam: int, drifting: bool) -> tuple[rl.Ratings, Codes]:
    """Students come one after the other; two raters mark each."""
    plan = rl.plan(STUDENTS, RATERS, items=3, seed=exam)
    student = np.array([int(label[1:]) - 1 for label in plan.assignment["student"]])
    rater = np.array([int(label[1:]) - 1 for label in plan.assignment["rater"]])
    time, items = np.repeat(student, 3), np.tile(np.arange(3), len(student))
    severity = 0.7 * default_rng([exam, 3]).standard_normal(RATERS)
    labels = np.repeat(rater, 3)
    late = (labels == 0) & (time >= STUDENTS // 2) & drifting
    # A rater who has changed is another one as far as scores go.
    drawn = rl.simulate(
        design=(np.repeat(student, 3), np.where(late, RATERS, labels), items),
        slope=1.5,
        severity=np.append(severity, severity[0] + 1.0)[: RATERS + int(late.any())],
        seed=[26, exam],
    ).ratings
    own = np.where(drawn.rater == RATERS, 0, drawn.rater).astype(np.int32)
    names = rl.plan(20, RATERS).raters["rater"]
    return replace(drawn, rater=own, raters=names), drawn.student


def _first_alarm(ratings: rl.Ratings, time: Codes) -> dict[str, int]:
    """The look at which each rater's alarm is first raised."""
    first: dict[str, int] = {}
    fit = None
    for look in range(1, LOOKS + 1):
        rows = time < STUDENTS * look / LOOKS
        kept = {name: getattr(ratings, name)[rows] for name in ("student", "rater", "item", "score")}
        seen = replace(ratings, **kept, students=ratings.students[: int(STUDENTS * look / LOOKS)])
        fit = rl.fit(seen, model="gmf", halo="none", start=fit)
        moments, codes = np.unique(time[rows], return_inverse=True)
        labels = rl.plan(max(len(moments), 2), 2).ratings().students[: len(moments)]
        for rater in drift_alarms(residuals(fit, seen), codes, labels).filter("alarm")["rater"]:
            first.setdefault(rater, look)
    return first


if __name__ == "__main__":
    main()
