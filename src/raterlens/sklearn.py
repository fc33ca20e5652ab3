"""A scikit-learn estimator: rows are students, columns are raters, a cell is a rating or nothing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import Parameter, Signature
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from raterlens.base.arrays import Array
from raterlens.base.errors import RaterlensError
from raterlens.config import FIT_OPTIONS, FitConfig, ReadConfig
from raterlens.estimation.scoring import place
from raterlens.fitting.api import fit
from raterlens.fitting.fit import Fit
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read, read_ratings

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise ImportError(
        "raterlens.sklearn needs scikit-learn; install it with: pip install 'raterlens[sklearn]'"
    ) from missing

_COLUMNS = ("cut", "raters", "items")
_FIRST = ("self", "model", "method", "link")
_DEFAULT = FitConfig()
_SIGNATURE = Signature(
    [
        Parameter(
            name,
            Parameter.POSITIONAL_OR_KEYWORD if name in _FIRST else Parameter.KEYWORD_ONLY,
            default=Parameter.empty if name == "self" else getattr(_DEFAULT, name, None),
        )
        for name in (*_FIRST, *(name for name in FIT_OPTIONS if name not in _FIRST), *_COLUMNS)
    ]
)


class RaterCapability(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """How capable is each rater, where every column of a matrix is one.

    The same estimation as `raterlens.fit`. As in scikit-learn's `FactorAnalysis`, `transform` gives the latent
    variable of every row (the student's ability) and `score` the average log-likelihood of a row, so that grid
    search and cross-validation over students choose among models. There is nothing to predict: `y` holds known
    answers, NaN where unknown; a `y` without any NaN is taken for a target and ignored.

    Parameters
    ----------
    model, method, link, scale and the other options of `raterlens.fit`
        As there.
    cut
        A value of this or more is a pass; None where values are whole scores already.
    raters
        The rater of every column; the columns' names (x0, x1, ... of an array) where left out.
    items
        The item of every column; one item for all where left out.

    Attributes
    ----------
    fit_ : raterlens.Fit
        Everything that was estimated.
    raters_ : array of str
        Labels of the raters, sorted.
    kappa_ : array of float
        Their capability.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    NaN is a rating that was not given; a row without ratings gets the population mean.
    Models `hrm` and `dawid-skene` can be fitted, but neither transform nor score.

    Examples
    --------
    >>> import numpy as np
    >>> from raterlens.sklearn import RaterCapability
    >>> rng = np.random.default_rng(1)
    >>> ability, noise = rng.normal(size=(300, 1)), np.array([0.5, 0.5, 1.0, 4.0])
    >>> verdicts = (ability + noise * rng.normal(size=(300, 4)) > 0).astype(float)
    >>> judges = RaterCapability(model="probit").fit(verdicts)
    >>> str(judges.raters_[judges.kappa_.argmin()])
    'x3'
    >>> judges.transform(verdicts).shape
    (300, 1)
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        bound = _SIGNATURE.bind(self, *given, **named)
        bound.apply_defaults()
        for name in (*FIT_OPTIONS, *_COLUMNS):
            setattr(self, name, bound.arguments[name])

    __init__.__signature__ = _SIGNATURE  # type: ignore[attr-defined]  # where scikit-learn looks for parameters

    def fit(self, X: Any, y: Any = None) -> "RaterCapability":
        """Estimate from a matrix, or a dataframe, of scores; `y` has the known answers, NaN where unknown."""
        scores = self._scores(X, reset=True)
        table, known = self._long(scores), self._known(y, len(scores))
        with _as_value_errors():
            if known is not None:
                answers = pl.Series("known", known[table["student"].to_numpy()]).fill_nan(None)
                ratings = read(table.with_columns(answers), cut=self.cut, known="known")
            else:
                ratings = read(table, cut=self.cut)
            self.fit_: Fit = fit(ratings, **{name: getattr(self, name) for name in FIT_OPTIONS})
        table = self.fit_.table("raters")
        self.raters_: NDArray[np.str_] = table["rater"].cast(pl.String).to_numpy().astype(np.str_)
        self.kappa_: Array = table["kappa"].to_numpy()
        self.n_iter_: int = max(1, self.fit_.optimiser.iterations)
        self._n_features_out = 1
        return self

    def transform(self, X: Any) -> Array:
        """Every student's ability, (students, 1), with raters as they were estimated."""
        check_is_fitted(self)
        scores = self._scores(X, reset=False)
        ability = np.full((len(scores), 1), self._mean())
        if np.isfinite(scores).any():
            with _as_value_errors():
                found = self.fit_.score(self._ratings(scores))
            ability[found["student"].to_numpy(), 0] = found["theta"].to_numpy()
        return ability

    def score(self, X: Any, y: Any = None) -> float:
        """Log-likelihood of the ratings of a student, averaged over students."""
        check_is_fitted(self)
        scores = self._scores(X, reset=False)
        if not np.isfinite(scores).any():
            return 0.0
        ratings = self._ratings(scores)
        with _as_value_errors():
            return place(self.fit_.calibrated("students cannot be scored by it"), ratings).loglik() / len(
                scores
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _scores(self, X: Any, *, reset: bool) -> Array:
        scores = validate_data(
            self,
            X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            ensure_min_samples=1 + reset,
        )
        return np.asarray(scores)

    def _known(self, y: Any, n: int) -> Array | None:
        """(students,) the known answers; None where `y` leaves none unknown, as the targets of other estimators do."""
        if y is None:
            return None
        known = np.asarray(y, dtype=np.float64).ravel()
        if len(known) != n:
            raise ValueError(
                f"y has {len(known)} known answers for {n} rows; give one for each, NaN where unknown"
            )
        return known if np.isnan(known).any() and not np.isnan(known).all() else None

    def _labels(self, given: Sequence[str] | None, otherwise: Sequence[str], what: str) -> list[str]:
        labels = [str(label) for label in (otherwise if given is None else given)]
        if len(labels) != self.n_features_in_:
            raise ValueError(
                f"{what} has {len(labels)} labels for {self.n_features_in_} columns; give one for each"
            )
        return labels

    def _long(self, scores: Array) -> pl.DataFrame:
        """One row per rating."""
        names = getattr(self, "feature_names_in_", [f"x{column}" for column in range(scores.shape[1])])
        raters = pl.Series(self._labels(self.raters, names, "raters"), dtype=pl.String)
        items = pl.Series(self._labels(self.items, ["all"] * scores.shape[1], "items"), dtype=pl.String)
        student, column = np.nonzero(np.isfinite(scores))
        return pl.DataFrame(
            {
                "student": student,
                "rater": raters.gather(column),
                "item": items.gather(column),
                "score": scores[student, column],
            }
        )

    def _ratings(self, scores: Array) -> Ratings:
        with _as_value_errors():
            return read_ratings(self._long(scores), ReadConfig(cut=self.cut))

    def _mean(self) -> float:
        population = self.fit_.tables.get("population")
        return 0.0 if population is None else float(population["mean"].item())


@contextmanager
def _as_value_errors() -> Iterator[None]:
    """Scikit-learn's own tools expect a ValueError of data at fault."""
    try:
        yield
    except RaterlensError as error:
        raise ValueError(str(error)) from error
