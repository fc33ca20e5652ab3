"""Names of models, methods and links, and the glossary, in plain words."""

MODELS = {
    "tfm": "Three-facets model (TFM): raters differ in severity only",
    "gmf": "Generalised many-facets model (GMF): raters differ in severity and in discrimination",
}

METHODS = {
    "mml": "Marginal maximum likelihood (mml): abilities integrated out numerically",
    "laplace": "Laplace approximation (laplace) of the marginal likelihood",
    "hl": "Hierarchical likelihood (hl): abilities and raters estimated in turn",
}

LINKS = {
    "logit": "Logit",
    "probit": "Probit",
    "cauchit": "Cauchit",
    "cloglog": "Complementary log-log",
    "log": "Log",
}

DOUBTFUL = {
    "borderline": "Borderline: capability seems low, but it may be chance",
    "unclear": "Too few ratings to say",
}

GLOSSARY = (
    (
        "Capability",
        "kappa",
        "How strongly a rater's passes follow the ability of the students, averaged over all students. "
        "1 is the best possible rater on this panel's scale, 0 a rater whose passes have nothing to do with ability.",
    ),
    (
        "Interval",
        "95 %",
        "The range of capability that the data supports. Two raters whose intervals overlap widely may well be equally "
        "capable.",
    ),
    (
        "Severity",
        "eta",
        "How strict a rater is. 0 is the average of this panel; above 0 fewer students pass, below 0 more do.",
    ),
    (
        "Discrimination",
        "rho",
        "How sharply a rater separates able from less able students, relative to the sharpest rater of this panel (1).",
    ),
    (
        "Logit",
        "",
        "The unit of severity: near the middle, one logit more severe turns a pass rate of 50 in 100 into 27 in 100.",
    ),
)
