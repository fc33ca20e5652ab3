"""Several models fitted to the same ratings, side by side."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from raterlens.base.errors import OptionError
from raterlens.base.processes import side_by_side
from raterlens.facade import Fit
from raterlens.fitting import fit
from raterlens.ratings.coded import Ratings
from raterlens.reading.reader import read

if TYPE_CHECKING:
    from distributed import Client

Options = Mapping[str, Any]
# What has to do with how one fit is done, not with its model.
_ALONE = ("progress", "checkpoint", "resume", "client")


def fit_models(
    ratings: Ratings | Any,
    models: Sequence[str] | Mapping[str, Options],
    *,
    workers: int | None = None,
    client: "Client | None" = None,
) -> dict[str, Fit]:
    """Fit several models at a time.

    Parameters
    ----------
    ratings
        As for `rl.fit`.
    models
        Names of models, or a name of your own for each with its options of `rl.fit`.
    workers
        Processes; as many as there are cores where left out.
    client
        A client of a Dask cluster (`distributed.Client`), whose workers then fit a model each. Packed ratings beyond
        memory are read by the workers themselves, from a file that all of them can open. To spread one model over all
        workers, use `rl.fit` with `client`.

    Returns
    -------
    dict of fits
        By name, in the order given, ready for `rl.compare(*fits.values(), names=list(fits))`.

    Examples
    --------
    >>> import raterlens as rl
    >>> fits = rl.fit_models(rl.load_example(), {"equal": {"model": "tfm"}, "free": {"model": "gmf"}}, workers=2)
    >>> rl.compare(*fits.values(), names=list(fits)).models.select("fit", "against", "df").rows()
    [('equal', None, None), ('free', 'equal', 15)]
    """
    wanted = _named(models)
    if not isinstance(ratings, Ratings):
        ratings = read(ratings)
    with closing(
        side_by_side(_fitted, ratings, list(wanted.items()), workers=workers, client=client)
    ) as ready:
        found = {name: one for (name, _), one in ready}
    return {name: found[name] for name in wanted}


def _named(models: Sequence[str] | Mapping[str, Options]) -> dict[str, Options]:
    if isinstance(models, str) or not models:
        raise OptionError(
            f"models={models!r}",
            "give a list of models, for example ['tfm', 'gmf']",
            value=models,
            option="models",
        )
    if not isinstance(models, Mapping):
        if len(set(models)) < len(models):
            raise OptionError(
                f"models={models!r} names one twice",
                "give each a name of its own: {name: options}",
                value=models,
                option="models",
            )
        return {model: {"model": model} for model in models}
    for name, options in models.items():
        if not isinstance(options, Mapping):
            raise OptionError(
                f"the options of {name!r} are a {type(options).__name__}",
                "give a dict such as {'model': 'tfm'}",
                value=options,
                option="models",
            )
        for option in _ALONE:
            if option in options:
                raise OptionError(
                    f"{option!r} among the options of {name!r} is for a fit alone",
                    "leave it out",
                    option=option,
                )
    return dict(models)


def _fitted(ratings: Ratings, task: tuple[str, Options]) -> Fit:
    return fit(ratings, **task[1])
