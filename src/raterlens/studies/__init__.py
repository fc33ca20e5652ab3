"""The studies by name: a list that costs nothing to import."""

STUDIES = {
    "study1": "the paper's Study 1: recovery of raters, students and items by all three methods",
    "study2": "the paper's Study 2: capability against severity for four raters on four topics",
    "writing": "the paper's empirical study, from the real file (--data)",
    "noise": "a share of the ratings replaced by coin flips",
    "linkage": "common students between raters, from none to all",
    "covariates": "severity and discrimination explained by experience",
}
"""In the order of the help."""

PLACES = {
    "study1": "simulated:STUDY1",
    "study2": "simulated:STUDY2",
    "writing": "study_writing:STUDY",
    "noise": "outlook:NOISE",
    "linkage": "outlook:LINKAGE",
    "covariates": "outlook:COVARIATES",
}
"""Where each is defined."""

FIGURES = "figures"
"""Not a study: the paper's figures, those of results taken from its two studies."""

STUDY_HELP = "\n".join(
    [
        "Studies:",
        *(f"  {name:<14}{question}" for name, question in STUDIES.items()),
        f"  {FIGURES:<14}the paper's Figures 1 to 4, and those of its two studies",
        "",
        "Run the same command again to resume a study that was stopped.",
        "",
        "Examples:",
        "  raterlens study study1 --out study1/",
        "  raterlens study writing --data data.cqc04.rda --out writing/",
    ]
)
