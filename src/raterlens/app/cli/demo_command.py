"""`raterlens demo`: the bundled example, from ratings to report."""

from dataclasses import replace
from pathlib import Path

from raterlens.app.cli.progress import watching
from raterlens.output.report.reproduce import IMPORT, Reproduction

DEMO_FOLDER = Path("raterlens-demo")
EXAMPLE = "bundled example: ratings simulated from published estimates, none of them real"
REPRODUCTION = Reproduction(f"{IMPORT}\n\nfit = rl.fit(rl.load_example())", "raterlens demo")


def demo() -> None:
    """Fit the bundled example (simulated ratings) and write its report."""
    # heavy, so not before it is needed
    from raterlens.app.cli.terminal import Terminal
    from raterlens.diagnostics.findings import find
    from raterlens.fitting import fit
    from raterlens.output.folder import check_folder, write_results
    from raterlens.simulation.example import load_example

    check_folder(DEMO_FOLDER)
    example = load_example()
    example = replace(example, notes=(EXAMPLE, *example.notes))
    with watching("fitting", "the example") as watch:
        result = fit(example, progress=watch.on_iteration)
        watch.enter("diagnosing")
        found = find(result, example)
        watch.enter("writing", str(DEMO_FOLDER))
        write_results(result, DEMO_FOLDER, reproduction=REPRODUCTION, ratings=example, found=found)
    Terminal().fit(result, found=found, out=DEMO_FOLDER)
