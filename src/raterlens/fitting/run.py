"""From a file to results: read, fit, diagnose and write, in the same way for the command line and the web app."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.config import FitConfig
from raterlens.diagnostics.findings import PanelFindings, panel_findings
from raterlens.fitting.api import load
from raterlens.fitting.assumptions import ADDED
from raterlens.fitting.checks import Run, check, recorded
from raterlens.fitting.fit import Fit, fit_with_assumptions
from raterlens.grading.decisions import AskedDecisions
from raterlens.output.folder import check_folder, write_results
from raterlens.output.report.page import Document
from raterlens.output.report.reproduce import CONTROL_FILE_OPTIONS, Reproduction, Request
from raterlens.ratings.coded import Ratings
from raterlens.ratings.groupings import columns_by_name
from raterlens.reading.formats.sources import is_control_file
from raterlens.reading.read import read
from raterlens.reading.vocabulary import tier


@dataclass(frozen=True, slots=True, eq=False)
class FittedRequest:
    """A fit with everything that is shown or written beside it."""

    request: Request
    """As it was fitted: with what the file and the ratings decided."""
    fit: Fit
    ratings: Ratings
    """Those that diagnostics and pictures are made from."""
    found: PanelFindings
    document: Document
    cautions: tuple[str, ...] = ()

    @property
    def decided(self) -> list[str]:
        """Sentences on the decisions and further marks that were asked for."""
        decided, remark = self.document.decisions, self.document.remark
        return [*(decided.words() if decided else ()), *(remark.words() if remark else ())]

    def write(
        self, folder: Path, *, reproduction: Reproduction | None = None, xlsx: bool | None = None
    ) -> None:
        """Write all results to a folder; a workbook too, by default where the request asks for it."""
        write_results(
            self.fit,
            folder,
            reproduction=reproduction or self.request.reproduction(),
            ratings=self.ratings,
            found=self.found,
            document=self.document,
            xlsx=self.request.xlsx if xlsx is None else xlsx,
        )


def check_request(request: Request, run: Run) -> None:
    """Refuse what can be seen to be wrong without the file."""
    columns = [*([request.time] if request.time else []), *request.groups]
    if twice := [name for name in columns if columns.count(name) > 1]:
        raise OptionError(
            Message(f"{twice[0]!r} is given more than once for ", Option("time"), " and ", Option("groups")),
            "give it once",
            value=twice[0],
            option="groups",
        )
    items = [name for name in columns if tier(name, "item") is not None]
    if items and request.read.item is None and request.read.items is None:
        raise OptionError(
            f"{items[0]!r} looks like the item column, which is tested for bias anyway",
            Message("leave it out, or name the item column with ", Option("item")),
            value=items[0],
            option="groups",
        )
    _decisions_of(request).check(request.fit)
    _check_workbook(request)
    if request.out is not None:
        check_folder(Path(request.out))
    check(request.fit, run)


def _decisions_of(request: Request) -> AskedDecisions:
    return AskedDecisions(request.decide, request.remark, request.by_raters, request.not_by)


def _check_workbook(request: Request, ratings: Ratings | None = None) -> None:
    if request.xlsx:
        from raterlens.output.excel import check_excel  # few requests ask for a workbook

        check_excel(ratings)


def fit_request(request: Request, run: Run, source: Path | None = None) -> FittedRequest:
    """Read, fit and diagnose what a request asks for.

    Parameters
    ----------
    request
        As it was asked for.
    run
        How to carry it out.
    source
        Where the file is, if not where the request says: an upload keeps the name that its visitor gave it.
    """
    previous = None if request.previous is None else load(request.previous)
    run.enter("reading")
    ratings, config, request = read_request(request, run, source)
    return fit_ratings(ratings, config, request, run, previous)


def fit_ratings(
    ratings: Ratings, config: FitConfig, request: Request, run: Run, previous: Fit | None = None
) -> FittedRequest:
    """Fit and diagnose ratings that have been read for a request."""
    if previous is not None and _can_start_from(previous, config, run):
        run, request = replace(run, start=previous), replace(request, warm=True)
    columns = columns_by_name(ratings, request.time, request.groups)
    asked = _decisions_of(request)
    asked.check_scores(ratings)
    _check_workbook(request, ratings)
    fit = fit_with_assumptions(ratings, config, run)
    request = replace(request, fit=as_fitted(request.fit, fit, config))
    run.enter("diagnosing")
    decided, remark = asked.made(fit, ratings)
    ratings, columns, sampled = sample_for_diagnostics(ratings, columns)
    cuts = None if decided is None else decided.cuts.score.tolist()
    basis = None if decided is None else decided.basis
    placed = basis.grid.placed if basis is not None and basis.ratings is ratings else None
    found = panel_findings(fit, ratings, cuts=cuts, previous=previous, placed=placed, **columns)
    alarms = () if found.monitoring is None else found.monitoring.warnings()
    document = Document(previous=previous, cautions=(*sampled, *alarms), decisions=decided, remark=remark)
    if request.title is not None:
        document = replace(document, title=request.title)
    return FittedRequest(request, fit, ratings, found, document, sampled)


def as_fitted(asked: FitConfig, fit: Fit, given: FitConfig | None = None) -> FitConfig:
    """The request with its model by name and what the policy about assumptions added, so that it says what to fit.

    `given`: with what a control file asks for besides, which it says itself.
    """
    added = {name: getattr(fit.config, name) for name in ADDED if getattr(given or asked, name) is None}
    return asked.changed(model=fit.config.model, item_slopes=fit.config.item_slopes, **added)


def read_request(
    request: Request, run: Run, source: Path | None = None
) -> tuple[Ratings, FitConfig, Request]:
    """The ratings, what to fit to them, and the request, which then knows whether the file is a control file: one has
    anchors and a scale of its own."""
    asked, path, config = request.read, source or Path(request.file), request.fit
    if request.files:  # anchors and covariates
        found: dict[str, Any] = dict(request.files)
        config = config.changed(
            **recorded(found | ({"anchors": load(found["anchors"])} if "anchors" in found else {}))
        )
    check(config, run)
    beside = [*([request.time] if request.time else []), *request.groups]
    if request.more or not is_control_file(path, asked):
        source_or_path = request.source if request.more else path
        return read(source_or_path, **asked.given(), beside=beside), config, request
    from raterlens.reading.facets_study import read_facets  # few files are control files

    given = asked.given()
    if of_tables := [name for name in given if name not in (*CONTROL_FILE_OPTIONS, "format")]:
        raise OptionError(
            f"{path.name!r} is a FACETS control file, which says for itself where scores are",
            Message("leave out ", Option(of_tables[0])),
        )
    known = {name: given[name] for name in CONTROL_FILE_OPTIONS if name in given}
    study = read_facets(path, **known, beside=beside)
    held = study.anchors(config.model_name)
    if held is not None and config.anchors is not None:
        raise OptionError(
            f"{path.name!r} has anchors of its own",
            Message("leave out ", Option("anchors"), ", or take the anchors out of the control file"),
        )
    own: dict[str, Any] = {"scale": study.scale} if "scale" not in config.given() else {}
    own |= {"interactions": study.interactions} if config.interactions is None else {}
    # A control file says what the model is.
    config = config.changed(**own, model=config.model_name, anchors=held or config.anchors)
    return study.ratings, config, replace(request, control_file=True)


def _can_start_from(previous: Fit, config: FitConfig, run: Run) -> bool:
    """Whether the earlier fit has estimates to start from: of the same model, asked for in the same way."""
    before, known = previous.config, previous.calibration
    if known is None or run.checkpoint is not None or run.client is not None or config.method != "mml":
        return False
    options = ["model_name", "method", "link", "item_slopes"]
    options += [] if config.policy == "adapt" else ["scale", "prior"]
    alike = all(getattr(before, name) == getattr(config, name) for name in options)
    return (
        alike and not known.covariates and {"halo", "bias", "known", "population"}.isdisjoint(known.effects)
    )


def sample_for_diagnostics(
    ratings: Ratings, columns: dict[str, Any], most: int = 20_000_000, sample: int = 2_000_000
) -> tuple[Ratings, dict[str, Any], tuple[str, ...]]:
    """All ratings up to `most` of them, else those of some students, about `sample`, with a caution that says so."""
    if ratings.n_ratings <= most:
        return ratings, columns, ()
    some = ratings.sample(sample)
    if columns:
        rows = ratings.drawn(sample)[ratings.student]
        groups = {name: given.filter(rows) for name, given in columns.get("groups", {}).items()}
        columns = {"groups": groups} | ({"time": columns["time"].filter(rows)} if "time" in columns else {})
    caution = (
        f"diagnostics use {some.n_ratings:,} of {ratings.n_ratings:,} ratings, those of {some.n_students:,} students "
        "drawn at random; estimates and standard errors use all of them"
    )
    return some, columns, (caution,)
