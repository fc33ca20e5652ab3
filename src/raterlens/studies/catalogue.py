"""The studies by name: a list that costs nothing to look at."""

STUDIES = {
    "study1": "the paper's Study 1: recovery of raters, students and items, by all three methods",
    "study2": "the paper's Study 2: capability against severity for four raters on four topics",
    "writing": "the paper's empirical study, from the real file (--data)",
    "misspecified": "capability where the fitted model is not the one behind the ratings",
    "noise": "a share of the ratings replaced by coin flips",
    "linkage": "common students between raters, from none to all",
    "covariates": "severity and discrimination explained by experience",
    "ratings": "bias of the three methods as ratings per student fall from 800 to 5",
    "recovery": "every model and link: bias, and error against sample size",
    "calibration": "do intervals hold? coverage and width of each kind, and the bias of each estimator",
}
"""In the order of the help; each is `STUDY` in the module of its name, or in the one that MODULES says."""

MODULES = {
    "calibration": "coverage",
    "covariates": "rater_covariates",
    "ratings": "ratings_per_student",
    "writing": "writing_data",
}

FIGURES = "figures"
"""Not a study of its own: the paper's figures, those of results from its two studies."""

STUDY_HELP = "\n".join(
    [
        "Studies:",
        *(f"  {name:<14}{question}" for name, question in STUDIES.items()),
        f"  {FIGURES:<14}the paper's Figures 1 to 4, and those of its two studies",
        "",
        "A study that was stopped goes on where it was when the same command is given again.",
        "",
        "Examples:",
        "  raterlens study study1 --out study1/",
        "  raterlens study writing --data data.cqc04.rda --out writing/",
    ]
)
