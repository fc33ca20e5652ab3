"""The numbers behind a rater's page."""

import numpy as np

from raterlens.diagnostics.findings import panel_findings
from raterlens.output.report.opening import panel_rows
from raterlens.output.report.rater_pages import ABILITIES, rater_data
from tests.support.report_fits import MakeFit


def test_curves_and_what_if_are_those_of_the_fit(make_fit: MakeFit):
    fit = make_fit(5)
    found = panel_findings(fit)
    rows = panel_rows(fit, found)
    data = rater_data(fit, found, rows)
    for place, rater in enumerate(rows["rater"]):
        curve = fit.capability(theta=ABILITIES.tolist()).filter(rater=rater)["kappa"]
        assert np.allclose(np.array(data["curve"]["kappa"][place]) / 1000, curve, atol=5.1e-4)
        known = fit.what_if(rater, severity=np.linspace(*data["what_if"]["severity"], 81))
        assert np.allclose(
            np.array(data["what_if"]["kappa"][place]) / 1000, known.curve["kappa"], atol=5.1e-4
        )
        assert abs(data["what_if"]["best"][place] - known.best_severity) < 0.006
        assert data["feedback"][place].startswith(f"Dear {rater},")
