"""The share of work that truly passes, group by group, from raters who err: a latent class model.

A piece of work u of group g is truly a pass (xi = 1) or a fail. Rater r says pass with a probability that depends on
the truth and, for raters who share more than the truth, on something z that they all see in this piece:

    P(xi_u = 1) = logistic(p_g)        P(y = 1 | xi, z) = logistic(l_r,xi + b_r z),        z ~ N(0, 1)

Without z it is the model of Dawid and Skene (1979), with a prevalence per group; z is the random effect of Qu, Tan and
Kutner (1996). Where the truth of a piece is known, its ratings count for that class alone. Each error rate and each
prevalence gets half a rating of either kind (Jeffreys's prior of a proportion), so that none is estimated at 0.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse, special

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.estimation.optimiser import Optimum, Search, Space, maximise
from raterlens.likelihood.marginal import Value
from raterlens.likelihood.true_category import StudentItems, student_items
from raterlens.models.contexts import Blocks
from raterlens.ratings.coded import Ratings

UNKNOWN = -1
_HALF_A_RATING = 0.5
_LARGEST = 12.0
"""Of any parameter, in logits: a rate of 6 in a million."""
_STEEPEST = 6.0
"""Of what a rater takes from what is shared."""
_RIDGE = 1 / 4.0**2
"""A light one on b, which is otherwise free to run away where a rater hardly errs."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
_STEP = 1e-4
_SOFT = float(special.logit(0.9))
_PER_PARAMETER, _ENOUGH_PIECES = 20, 10_000
"""Pieces of work that say whether the model is identified."""
_NOTHING = 1e-9
_TOO_LITTLE, _TAKES_PART = 5e-3, 0.1
"""Information in a direction, relative to the parameters' own; and how far a prevalence may lie in it."""
_SHARED_START = 0.7
"""Where b starts: at 0 the likelihood is level, by symmetry."""


@dataclass(frozen=True, slots=True, eq=False)
class _Posterior:
    """Of class and z, cell by cell."""

    loglik: Array
    """(cells,)"""
    weights: Array
    """(cells, classes, nodes)"""
    pass_rate: Array
    """(raters, classes, nodes)"""


@dataclass(frozen=True)
class PrevalenceProblem:
    """Ratings as patterns of pieces of work, and who may share more than the truth."""

    units: StudentItems
    group: Indices
    """(cells,)"""
    truth: Indices
    """(cells,): the class where it is known, else -1."""
    times: Array
    """(cells,): pieces of work that show the pattern."""
    n_groups: int
    sharing: Mask
    """(raters,): whose errors may have something in common."""

    @staticmethod
    def of(
        ratings: Ratings, group: Indices, n_groups: int, known: Indices, sharing: Mask
    ) -> "PrevalenceProblem":
        """`group` and `known` (-1: unknown) are of each rating, the same within a student-item."""
        pieces, piece = np.unique(
            ratings.student.astype(np.int64) * ratings.n_items + ratings.item, return_inverse=True
        )
        kinds = pl.Series("item", np.arange(3 * n_groups))
        coded = replace(
            ratings,
            student=piece.astype(np.int32),
            item=(group * 3 + known + 1).astype(np.int32),
            students=pl.Series("student", np.arange(len(pieces))),
            items=kinds,
            facets=(),
            known=None,
        )
        units = student_items(coded, pooled=True)
        cells_group, truth = np.divmod(units.item_of_cell, 3)
        times = np.bincount(units.cell, minlength=len(units.item_of_cell)).astype(np.float64)
        return PrevalenceProblem(units, cells_group, truth - 1, times, n_groups, sharing)

    @property
    def n_raters(self) -> int:
        return len(self.sharing)

    @cached_property
    def blocks(self) -> Blocks:
        sizes = {
            "prevalence": self.n_groups,
            "line": 2 * self.n_raters,
            "shared": self.taken.shape[1],
        }
        return Blocks(sizes)

    @cached_property
    def taken(self) -> Array:
        """(raters, parameters): whose b is which parameter. Two raters show only the product of theirs: it is one."""
        own = np.eye(self.n_raters)[:, self.sharing]
        return own.sum(axis=1, keepdims=True) if own.shape[1] == 2 else own

    @cached_property
    def nodes(self) -> tuple[Array, Array]:
        """Of z, and their logarithmic weights."""
        if not self.sharing.any():
            return np.zeros(1), np.zeros(1)
        return _NODES, np.log(_WEIGHTS / _WEIGHTS.sum())

    def lines(self, parameters: Array) -> Array:
        """(raters, classes): logit of the pass rate at z = 0."""
        return parameters[self.blocks["line"]].reshape(-1, 2)

    def loading(self, parameters: Array) -> Array:
        """(raters,): b"""
        return np.asarray(self.taken @ parameters[self.blocks["shared"]])

    def value(self, parameters: Array) -> Value:
        """The log-likelihood, and the gradient with half a rating of either kind."""
        at, z = self._posterior(parameters), self.nodes[0]
        posterior = at.weights * self.times[:, None, None]
        answers = self.units.members.T @ posterior.reshape(len(posterior), -1)
        answers = answers.reshape(self.n_raters, 2, 2, len(z))
        away = answers[:, 1] - answers.sum(axis=1) * at.pass_rate
        passes = posterior[:, 1].sum(axis=1)
        passes, pieces = (np.bincount(self.group, each, self.n_groups) for each in (passes, self.times))
        gradient = np.concatenate(
            [
                passes - pieces * special.expit(parameters[self.blocks["prevalence"]]),
                away.sum(axis=2).ravel(),
                (away * z).sum(axis=(1, 2)) @ self.taken,
            ]
        )
        return self._with_half_ratings(parameters, float(self.times @ at.loglik), gradient)

    def _posterior(self, parameters: Array) -> "_Posterior":
        z, log_weights = self.nodes
        predictor = self.lines(parameters)[:, :, None] + self.loading(parameters)[:, None, None] * z
        log_prob = special.log_expit(np.stack([-predictor, predictor], axis=1))  # rater, score, class, node
        prevalence = parameters[self.blocks["prevalence"]]
        log = self.units.members @ log_prob.reshape(2 * self.n_raters, -1)
        log = log.reshape(-1, 2, len(z)) + log_weights
        log += special.log_expit(np.stack([-prevalence, prevalence], axis=1))[self.group][:, :, None]
        for other in (0, 1):
            log[self.truth == 1 - other, other] = -np.inf
        loglik = special.logsumexp(log, axis=(1, 2))
        return _Posterior(loglik, np.exp(log - loglik[:, None, None]), special.expit(predictor))

    def _with_half_ratings(self, parameters: Array, loglik: float, gradient: Array) -> Value:
        rates, b = (
            parameters[: self.blocks["shared"].start],
            parameters[self.blocks["shared"]],
        )
        both = special.log_expit(rates) + special.log_expit(-rates)
        objective = loglik + _HALF_A_RATING * float(both.sum()) - _RIDGE / 2 * float(b @ b)
        gradient[: len(rates)] += _HALF_A_RATING * (1 - 2 * special.expit(rates))
        gradient[len(rates) :] -= _RIDGE * b
        return Value(loglik, objective, gradient)

    def information(self, parameters: Array) -> Array:
        """Minus the second derivatives of the objective, from differences of its exact gradient."""
        n = len(parameters)
        found = np.empty((n, n))
        for k in range(n):
            step = np.zeros(n)
            step[k] = _STEP
            up, down = (self.value(parameters + sign * step).gradient for sign in (1, -1))
            found[k] = (down - up) / (2 * _STEP)
        return (found + found.T) / 2

    def identified(self, parameters: Array, seed: int = 0) -> bool:
        """Whether the design tells prevalences from error rates. What it leaves open about a rater who hardly shares
        work with others does no harm.

        Ratings are drawn anew for the same pieces and raters, with error rates and prevalences of at least 10 %: real
        ratings of raters who hardly err show too few patterns to tell, and half a rating hides a level ridge.
        """
        soft = parameters.copy()
        soft[: self.blocks["shared"].start] = np.clip(soft[: self.blocks["shared"].start], -_SOFT, _SOFT)
        rng = np.random.default_rng(seed)
        # As many pieces as it takes to see every direction, however few there are: it is the design that matters.
        n_pieces = min(max(int(self.times.sum()), _PER_PARAMETER * self.blocks.size), _ENOUGH_PIECES)
        cell = rng.choice(len(self.times), n_pieces, p=self.times / self.times.sum())
        members = self.units.members[cell].toarray().astype(np.int64)
        n, group, truth = members[:, ::2] + members[:, 1::2], self.group[cell], self.truth[cell]
        drawn = rng.random(len(cell)) < special.expit(soft[self.blocks["prevalence"]])[group]
        truth = np.where(truth == UNKNOWN, drawn, truth)
        predictor = self.lines(soft).T[truth] + rng.standard_normal((len(cell), 1)) * self.loading(soft)
        passed = rng.binomial(n, special.expit(predictor))
        both = np.stack([n - passed, passed], axis=2).reshape(len(cell), -1)
        units = replace(self.units, members=sparse.csr_array(both.astype(np.float64)))
        times = np.ones(len(cell))
        again = replace(self, units=units, group=group, truth=self.truth[cell], times=times)
        return again._tells_prevalence(soft)

    def _tells_prevalence(self, parameters: Array) -> bool:
        """No prevalence takes part in the directions of which the cells' scores say next to nothing."""
        at, z = self._posterior(parameters), self.nodes[0]
        members = self.units.members.toarray()
        passed, n = members[:, 1::2], members[:, ::2] + members[:, 1::2]
        away = passed[:, :, None] * at.weights.sum(axis=2)[:, None]  # cell, rater, class
        away -= n[:, :, None] * np.einsum("ckq,rkq->crk", at.weights, at.pass_rate)
        of_z = passed * (at.weights * z).sum(axis=(1, 2))[:, None]
        of_z -= n * np.einsum("ckq,rkq,q->cr", at.weights, at.pass_rate, z)
        by_group = np.zeros((len(members), self.n_groups))
        prevalence = special.expit(parameters[self.blocks["prevalence"]])[self.group]
        by_group[np.arange(len(members)), self.group] = at.weights[:, 1].sum(axis=1) - prevalence
        scores = np.hstack([by_group, away.reshape(len(members), -1), of_z @ self.taken])
        information = (scores * self.times[:, None]).T @ scores
        scale = np.sqrt(np.maximum(np.diag(information), _NOTHING))
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        open_part = np.linalg.norm(vectors[: self.n_groups, values < _TOO_LITTLE], axis=1)
        return bool(open_part.max() < _TAKES_PART)

    def start(self) -> Array:
        """From votes: what is known, else the share of passes, stands for the truth."""
        units = self.units
        n = np.asarray(units.members.sum(axis=1))
        passed = np.asarray(units.members[:, 1::2].sum(axis=1))
        usual = float(self.times @ passed / (self.times @ n))
        vote = np.where(self.truth == UNKNOWN, (passed + usual) / (n + 1), self.truth)
        both = np.stack([1 - vote, vote], axis=1) * self.times[:, None]
        answers = (units.members.T @ both).reshape(-1, 2, 2) + _HALF_A_RATING
        found = np.empty(self.blocks.size)
        found[self.blocks["line"]] = special.logit(answers[:, 1] / answers.sum(axis=1)).ravel()
        passes, pieces = (np.bincount(self.group, each, self.n_groups) for each in (both[:, 1], self.times))
        found[self.blocks["prevalence"]] = special.logit((passes + 0.5) / (pieces + 1))
        found[self.blocks["shared"]] = _SHARED_START
        return found

    def maximise(self, start: Array | None = None, search: Search | None = None) -> Optimum:
        """The best of the estimates: who agree most are taken to see the truth, where nothing of it is known."""
        first = self.start() if start is None else start
        most = np.full(self.blocks.size, _LARGEST)
        most[self.blocks["shared"]] = _STEEPEST
        scale = np.maximum(self._complete_information(first), 1.0)
        found = maximise(
            self.value, first, Space(scale, (-most, most)), search or Search(), stage="prevalence"
        )
        return replace(found, parameters=self._oriented(found.parameters))

    def _complete_information(self, parameters: Array) -> Array:
        """(parameters,): what the pieces would tell if their truth were known, roughly: a scale for steps."""
        prevalence = special.expit(parameters[self.blocks["prevalence"]])
        pieces = np.bincount(self.group, self.times, self.n_groups)
        n = np.asarray((self.units.members.T @ self.times).reshape(-1, 2).sum(axis=1))
        rate = special.expit(self.lines(parameters))
        by_line = n[:, None] / 2 * rate * (1 - rate)
        return np.concatenate([pieces * prevalence * (1 - prevalence), by_line.ravel(), 0.1 * n @ self.taken])

    def _oriented(self, parameters: Array) -> Array:
        """With pass as the class that raters pass more often, where no truth says which is which; z so that b > 0."""
        found = parameters.copy()
        if (self.truth == UNKNOWN).all() and np.diff(self.lines(found), axis=1).sum() < 0:
            found[self.blocks["line"]] = self.lines(found)[:, ::-1].ravel()
            found[self.blocks["prevalence"]] *= -1
        if found[self.blocks["shared"]].sum() < 0:
            found[self.blocks["shared"]] *= -1
        return found
