"""Every English word of the report, so that it can be read through, or put into another language, in one place."""

from collections.abc import Mapping

MODELS = {
    "tfm": "Three-facets model (tfm): raters differ in severity only",
    "gmf": "Generalised many-facets model (gmf): raters differ in severity and in discrimination",
    "probit": "Probit rater model (probit): raters see ability through noise and pass what exceeds a threshold",
    "hrm": "Hierarchical rater model (hrm): each piece of work is truly a pass or a fail; raters detect which",
    "dawid-skene": "Dawid-Skene model (dawid-skene): each piece of work is truly a pass or a fail; raters err at rates "
    "of their own",
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

COVARIANCES = {
    "observed": "Observed information of the marginal likelihood",
    "sandwich": "Sandwich, clustered by student",
    "expected": "Expected information",
    "outer": "Outer products of the students' gradients",
}

ASSUMPTIONS = (
    "Abilities follow a normal distribution; students are rated independently of each other.",
    "Raters who share a student judge the same work, and given its quality they judge independently.",
    "A rater's severity and discrimination stay the same throughout, for every item and every student.",
)
LATENT_ASSUMPTIONS = (
    "Each piece of work is truly a pass or truly a fail, and what raters disagree on is error.",
    "Given the truth, raters judge independently of each other.",
    "A rater's error rates stay the same throughout, for every item and every student.",
)
NORMAL_FREE = ("tfm", "gmf", "probit")

GLOSSARY = (
    (
        "Capability",
        "kappa",
        "How strongly a rater's ratings follow the ability of the students, averaged over all students. "
        "1 is the best possible rater on this panel's scale, 0 a rater whose ratings have nothing to do with ability.",
    ),
    (
        "95 % interval",
        "from – to",
        "The range of capability that the ratings support. Two raters whose intervals overlap widely may well be "
        "equally capable. More ratings make it narrower.",
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
    (
        "Ability",
        "theta",
        "What the ratings of all raters together say about a student, allowing for who rated them. "
        "0 is the average student, 1 is one standard deviation above.",
    ),
    (
        "Difficulty",
        "delta",
        "How hard it is to do well on an item. 0 is the average item; above 0 is harder.",
    ),
    (
        "Infit, outfit",
        "mean squares",
        "How far ratings are from what the model expects: 1 is as expected, 1.2 is 20 % noisier, 0.8 is 20 % more "
        "predictable. Outfit reacts to single surprises, infit to a general pattern.",
    ),
    (
        "Standard error",
        "±",
        "By how much an estimate would typically change if other students had been rated.",
    ),
    (
        "Flag",
        "what stands out",
        "Something in a rater's ratings that the model does not foresee, that chance does not explain, and that is "
        "large enough to matter.",
    ),
    (
        "Linked",
        "design",
        "Raters can be compared where they share students, directly or through others. Groups that share none cannot.",
    ),
)

TITLE = "Rater report"
BRAND = "Raterlens"
SKIP = "Skip to the raters"
CONTENTS = "In this report"
SCALE = (
    "Capability runs from 0 (ratings have nothing to do with ability) to 1 (the best possible rater); {line} or more "
    "is called capable."
)
FROM = "From {ratings} of {students} by {raters} on {items}."
NOT_CONVERGED = "The fit did not converge, so the numbers below may still change."
KEEP_IN_MIND = "{things} to keep in mind when reading this."
SEE_BELOW = "See them"
ALL_WELL = "Nothing here asks for action. The capability of every rater is shown below, with how sure we can be of it."
NEXT = "Next:"
MORE_TO_SEE = "And {more} to look at: they are in the table."
MORE = "{n} more in the table"
OPEN = "Look at {rater}"
STAND_OUT = "Something else stands out"
STAND_OUT_ASIDE = "{n} of the others stand out in another way"
DOUBTFUL = {
    "borderline": "Borderline: capability seems low, but it may be chance",
    "unclear": "Too few ratings to say",
}

NUMBERS = {
    "median": "Median capability",
    "needing": "Need attention",
    "ratings": "Ratings a rater (median)",
    "reliability": "Reliability of students' results",
}

SECTIONS = {
    "attention": "Who needs attention",
    "capability": "Capability",
    "severity": "Severity and discrimination",
    "raters": "All raters",
    "items": "Items",
    "students": "Students",
    "design": "Design and warnings",
    "method": "Model and method",
    "glossary": "Words used here",
}
CAPABILITY_LEAD = (
    "Each line is the 95 % interval: the range that the ratings support. The dashed line marks {line}."
)
SEVERITY_LEAD = "Why a rater is where it is. Higher is sharper, left is more lenient, right is more severe."
SEVERITY_CONTOURS = "Along each curve capability is the same."
RATERS_LEAD = "Choose a name for all about a rater; choose a heading to sort by it."
ITEMS_LEAD = "How hard each item is for the average rater and student."
STUDENTS_LEAD = "What all ratings together say about each student, allowing for who rated them."
STUDENTS_CUT = "The first {shown} of {all} students are in this file; students.csv beside it has all."
NOTHING_UNUSUAL = "Nothing unusual was found in the data or in the fit."
REPAIRS_LEAD = "These ratings, collected in addition, would link all raters to each other:"
FEW_LEAD = "These raters have too few ratings for a precise severity (standard error {se}):"
NOTES = "How the file was read"
REPRODUCE = "How to reproduce"
IN_SHELL = "On the command line"
IN_PYTHON = "In Python"
ASSUMED = "What the numbers take for granted"
MADE_BY = "Made by Raterlens {version}. This file is complete in itself: nothing is loaded from elsewhere."
NO_SCRIPT = (
    "Sorting, searching, the page of each rater and the downloads need JavaScript; {n} are listed here."
)

HEADINGS = {
    "rank": "Rank",
    "rater": "Rater",
    "verdict": "Verdict",
    "kappa": "Capability",
    "interval": "95 % interval",
    "eta": "Severity",
    "rho": "Discri­mination",
    "mean_score": "Mean score",
    "n": "Ratings",
    "item": "Item",
    "delta": "Difficulty",
    "delta_se": "± Standard error",
    "prevalence": "Share of passes",
    "student": "Student",
    "theta": "Ability",
    "theta_se": "± Standard error",
    "infit": "Infit",
    "outfit": "Outfit",
    "link": "Links",
    "needed": "Needed",
}

SETTINGS = {
    "model": "Model",
    "method": "Method",
    "link": "Link",
    "data": "Data",
    "loglik": "Log-likelihood",
    "information": "AIC, BIC",
    "sigma": "Slope of the yardstick (sigma)",
    "alpha": "Average predictor (alpha)",
    "yardstick": "Yardstick, students, severity",
    "covariance": "Standard errors",
    "converged": "Converged",
}
NO_ERRORS = "Not computed: there are no intervals"

SEVERITY_WORDS = ("more lenient", "about average", "more severe")
SHARPNESS_WORDS = ((0.7, "sharp"), (0.4, "fair"), (0.2, "weak"), (-1e9, "next to none"))

AXES = {
    "theta": "Ability θ",
    "curve": "Sensitivity to ability κ(θ)",
    "severity": "Severity",
    "kappa": "Capability",
}

RATER: Mapping[str, str] = {
    "back": "All raters",
    "previous": "Previous",
    "next": "Next",
    "of": "{place} of {all}",
    "rank": "Rank by capability",
    "sensitivity": "Passes of true passes",
    "specificity": "Fails of true fails",
    "curve": "Where this rater is sensitive",
    "curve_lead": "The curve shows how strongly this rater's scores respond to ability, student by student from weak "
    "(left) to strong (right). The grey hill shows where the students are.",
    "curve_band": "The band is the 95 % interval.",
    "what_if": "What if the standard changed?",
    "what_if_lead": "Move the slider to see this rater's capability with another severity, all else being equal.",
    "slider": "Severity",
    "mark_now": "as estimated",
    "mark_best": "best",
    "mark_moved": "where the slider is",
    "evidence": "Evidence",
    "unexpected": "Most unexpected ratings",
    "feedback": "Feedback to send",
    "copy": "Copy the text",
    "to_best": "To the best severity",
    "to_now": "Back to the estimate",
}

TOGETHER = "Something to look at together: {evidence}."
NO_EVIDENCE = "Fit statistics need the ratings: they are shown where the report is made together with them."

SCRIPT: Mapping[str, str] = {
    "missing": "–",
    "severer": "more severe",
    "milder": "more lenient",
    "same": "At this rater's own severity ({severity}) capability is {kappa}.",
    "better": "With severity {severity} ({change} {way}) capability would be {kappa}: {gain} more.",
    "worse": "With severity {severity} ({change} {way}) capability would be {kappa}: {gain} less.",
    "level": "With severity {severity} ({change} {way}) capability would stay at {kappa}.",
    "best": "The best severity for this rater is {severity}, with capability {kappa}.",
    "at_best": "This is about the best severity for this rater.",
    "fit_as": "Ratings are about as predictable as the model expects",
    "fit_noisy": "Ratings are {percent} % noisier than the model expects",
    "fit_calm": "Ratings are {percent} % more predictable than the model expects",
    "fit_numbers": "(infit {infit}, outfit {outfit}).",
    "unexpected": "Student {student}, {item}: scored {score}, where {expected} was expected ({chance}).",
    "chance": "a chance of {percent} %",
    "chance_tiny": "a chance of less than 0.1 %",
    "shown": "{from}–{to} of {count}",
    "none": "Nobody matches. Clear the search or show everyone.",
    "found": "{count} found",
    "interval": "{low} to {high}",
    "error": "± {se}",
    "of": "{place} of {all}",
    "copied": "Copied",
    "no_flags": "Nothing in this rater's ratings stands out beyond chance.",
    "no_unexpected": "None of this rater's ratings is among the most unexpected ones.",
    "next": "Next:",
    "select": "Press Ctrl+C to copy",
}

FIND = {
    "search": "Find a rater or a verdict",
    "show": "Show",
    "everyone": "everyone",
    "attention": "who needs attention",
    "flagged": "who else stands out",
    "borderline": "borderline",
    "unclear": "too few ratings to say",
    "fine": "who is fine",
    "previous": "Previous page",
    "next": "Next page",
    "csv": "Download as csv",
}
