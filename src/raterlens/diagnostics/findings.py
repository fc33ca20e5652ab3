"""What is known of a panel as a whole, found once for the report, the command line and the files."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from raterlens.base.linear_algebra import limit_blas_threads
from raterlens.base.threads import in_background
from raterlens.diagnostics.consequences import Consequences, consequences
from raterlens.diagnostics.diagnosis import Diagnosis, diagnose
from raterlens.diagnostics.differences import Differences, differences
from raterlens.ratings.design import connected_groups

if TYPE_CHECKING:
    from raterlens.diagnostics.monitoring import Monitoring
    from raterlens.fitting.fit import Fit
    from raterlens.ratings.coded import Ratings


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What raters' differences mean, whether raters differ beyond chance, and what stands out."""

    consequences: Consequences
    differences: Differences
    diagnosis: Diagnosis | None = None
    monitoring: "Monitoring | None" = None
    """Beside an earlier fit, where there is one."""
    groups: int = 1
    """Groups of raters that no student links: raters of different groups cannot be compared."""

    def warnings(self) -> tuple[str, ...]:
        """What diagnostics found, one sentence each."""
        return () if self.diagnosis is None else self.diagnosis.warnings()

    def beside(self, monitoring: "Monitoring") -> "Findings":
        return replace(self, monitoring=monitoring)

    @property
    def alarmed(self) -> int:
        """Raters with an alarm of drift."""
        alarms = None if self.monitoring is None else self.monitoring.alarms
        return 0 if alarms is None else alarms.filter("alarm")["rater"].n_unique()

    def alarms(self) -> tuple[str, ...]:
        """Of drift since an earlier fit."""
        return () if self.monitoring is None else self.monitoring.warnings()


def find(
    fit: "Fit",
    ratings: "Ratings | None" = None,
    diagnosis: Diagnosis | None = None,
    cuts: Sequence[float] | None = None,
    **asked: Any,
) -> Findings:
    """All of it; without ratings, what the estimates alone say.

    `diagnosis`, where it was made; it is made here otherwise, `asked` as `diagnose` is. `cuts`: the mean scores from
    which on grades begin, where they are known.
    """
    with limit_blas_threads(fit), in_background(lambda: consequences(fit, ratings, cuts)) as meaning:
        if diagnosis is None and ratings is not None:
            diagnosis = diagnose(fit, ratings, **asked, whole=False)
        differing = differences(fit, ratings, diagnosis)
        groups = 1 if ratings is None else connected_groups(ratings).n
        return Findings(meaning(), differing, diagnosis, groups=groups)
