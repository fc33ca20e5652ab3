"""Names of models, methods and links, and the glossary, in plain words."""

MODELS = {
    "tfm": "Three-facets model (TFM): raters differ in severity only",
    "probit": "Probit rater model: raters see ability through noise and pass what exceeds a threshold",
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
        "How strongly a rater's ratings follow the ability of the students, averaged over all students. "
        "1 is the best possible rater on this panel's scale, 0 a rater whose ratings have nothing to do with ability.",
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
        "How strict a rater is. 0 is the average of this panel; above 0 students fare worse, below 0 better. "
        "In the middle, 1 more turns a pass rate of 50 in 100 into 27 (logit link).",
    ),
    (
        "Discrimination",
        "rho",
        "How sharply a rater separates able from less able students, relative to the sharpest rater of this panel (1).",
    ),
)
