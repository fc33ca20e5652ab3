"""Compiled functions that are compiled once for a machine, wherever Raterlens is installed."""

from collections.abc import Callable
from typing import Any

from raterlens.errors import OptionError
from raterlens.kernels.compiling_notice import notify

try:
    import numba as nb
    from numba.core import event
except ModuleNotFoundError as error:  # where readable code could not do it
    raise OptionError("this needs compiled code", "run: pip install 'raterlens[large]'") from error


class _Compiling(event.Listener):
    def on_start(self, event: Any) -> None:
        notify(True)

    def on_end(self, event: Any) -> None:
        notify(False)


# Numba has no types.
event.register("numba:compile", _Compiling())  # type: ignore[no-untyped-call]


def compiled(*fastmath: str, inline: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile on first call, kept on disk: beside the source or, where that is read-only, in the user's cache folder.

    Where neither can be written, the function is compiled again in every process. `fastmath` names the liberties that
    the compiler may take with floating-point numbers.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": set(fastmath)}
    if inline:
        options["inline"] = "always"

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return nb.njit(cache=True, **options)(function)
        except RuntimeError:  # numba found no folder to write to
            return nb.njit(**options)(function)

    return decorate
