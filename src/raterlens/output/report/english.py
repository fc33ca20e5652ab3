"""Every English word of the report in one place, to be proofread or translated."""

from collections.abc import Mapping

from raterlens.models.registry import MODELS as _MODELS
from raterlens.models.registry import is_latent_class

MODELS = {
    name: f"{spec.title[:1].upper()}{spec.title[1:]} ({name}): {spec.about}" for name, spec in _MODELS.items()
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
    "opg": "Outer products of the students' gradients",
    "conditional": "Information given the estimated abilities",
}

ASSUMPTIONS = (
    "Abilities are normally distributed, and students are independent of each other.",
    "Raters who share a student judge the same work; given its quality, they judge independently.",
    "A rater's severity and discrimination are constant over time, items and students.",
)
SMOOTH_ASSUMPTION = "Students are independent of each other. How abilities are distributed is estimated."
INTERACTING_ASSUMPTION = "Apart from its interactions, a rater is equally severe and sharp throughout."
LATENT_ASSUMPTIONS = (
    "Each piece of work is truly a pass or truly a fail; any disagreement between raters is error.",
    "Given the truth, raters judge independently.",
    "A rater's error rates are constant over time, items and students.",
)
NORMAL_FREE = tuple(name for name in _MODELS if not is_latent_class(name))

GLOSSARY = (
    (
        "Standard",
        "passes of 100",
        "Of 100 students of whom the average rater passes 50, how many this rater passes; with more scores than pass "
        "and fail, how many get the middle mark, which the average rater gives to 50. "
        "Below 35 is severe, below 30 too severe; above 65 is lenient, above 70 too lenient.",
    ),
    (
        "Sharpness",
        "0 to 1",
        "How closely scores follow ability; it does not depend on who else is on the panel. 1 is a rater without "
        "error, 0 a rater whose "
        "scores are unrelated to ability. A rater whose whole interval is above 0.7 is called sharp; below 0.5, blunt.",
    ),
    (
        "Capability",
        "kappa",
        "How strongly a rater's ratings follow the ability of the students, averaged over all students: standard and "
        "sharpness in one number. 1 is the best possible rater on the yardstick that this report names. It is not "
        "Cohen's kappa, which measures how often two raters agree.",
    ),
    (
        "95 % interval",
        "from – to",
        "The range of capability that the ratings support. Raters whose intervals overlap widely may be equally "
        "capable. More ratings make it narrower.",
    ),
    (
        "Severity",
        "eta",
        "How strict a rater is. 0 is the average of this panel; positive is stricter, negative more lenient. In "
        "logits, one unit lowers a pass rate of 50 % to 27 %; of marks on a continuous scale it is in marks.",
    ),
    (
        "Discrimination",
        "rho",
        "How well a rater separates able from less able students, relative to the best rater of this panel (1).",
    ),
    (
        "Ability",
        "theta",
        "What all ratings together say about a student, adjusted for who rated them. 0 is the average student, 1 is "
        "one standard deviation above.",
    ),
    (
        "Difficulty",
        "delta",
        "How hard it is to do well on an item. 0 is the average item; positive is harder.",
    ),
    (
        "Infit, outfit",
        "mean squares",
        "How much ratings vary around what the model expects: 1 is as expected, 1.2 is 20 % noisier, 0.8 is 20 % more "
        "predictable. Outfit responds to single surprises, infit to the general pattern.",
    ),
    (
        "Standard error",
        "±",
        "How much an estimate would typically change with another sample of students.",
    ),
    (
        "Flag",
        "what stands out",
        "A pattern in a rater's ratings that the model does not predict, chance does not explain, and is large enough "
        "to matter.",
    ),
    (
        "Linked",
        "design",
        "Raters can be compared if they share students, directly or through others. Groups that share none cannot.",
    ),
)

TITLE = "Rater report"
BRAND = "Raterlens"
SKIP = "Skip to the raters"
CONTENTS = "In this report"
SCALE = "Capability is {against}. {model}, {link} link."
YARDSTICKS = {
    "max": "relative to the sharpest rater of this panel",
    "quantile": "relative to the sharpest raters of this panel",
    "perfect": "relative to a perfect rater, one without noise",
}
"""By the first word of the reference."""
SLOPE = "relative to a rater with slope {reference:g}"
RATER_YARDSTICK = "relative to rater {reference}"
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
BETWEEN = "The 95 % interval of that number is {low} to {high}."
NO_PASS_MARK = "Give the pass mark (--decide) to see whose result would change."
EXPECTED = "{value} expected by the model"
IF_ALIKE = "{value} if all were alike"
FACTS = {
    "agreement": "Two raters agreed on work that both marked",
    "reliability": "Reliability of a mean score from {raters}",
    "passes": "An average student’s chance to pass",
    "marks": "Score that an average student can expect",
    "range": "{low} to {high}",
    "ends": "with {severe} and {lenient}",
}
PANEL = "For the whole panel:"
SINCE = "Since the last report"
SINCE_SAME = "No rater’s standard or sharpness has changed beyond chance ({compared} compared)."
SINCE_SOME = "Beyond chance, of {compared} compared:"
SINCE_NEW, SINCE_GONE = "{raters} since then.", "{raters} of the last report did not rate this time."
SINCE_LABELS = "was {was}, is {now}"
MOVED = {
    "standard": "passes {now} of 100 where the average rater passes 50 (before: {before})",
    "sharpness": "sharpness {now} (before: {before})",
}
CARD = {"capability": "capability", "standard": "of 100", "sharpness": "sharpness"}
FROM = "From {ratings} of {students} by {raters} on {items}."
NOT_CONVERGED = "The fit did not converge: do not rely on the numbers below."
CAUTIONS = "{cautions}:"
READ_ONE, READ_SEVERAL = "read it", "read them"
ALL_WELL = "No action needed."
NEXT = "Next:"
MORE_TO_SEE = "{more} in the table"
MORE = "{n} more in the table"
STAND_OUT = "Other patterns to look at"
DOUBTFUL = {
    "borderline": "Borderline: the estimate is over a line, its interval is not",
    "unclear": "Not known yet",
}

SECTIONS = {
    "attention": "Who needs attention",
    "decisions": "Decisions about students",
    "map": "Students, raters and items on one scale",
    "abilities": "The students' distribution",
    "capability": "Capability",
    "severity": "Severity and discrimination",
    "categories": "How the scores are used",
    "draws": "Asked several times",
    "raters": "All raters",
    "fit": "Fit statistics",
    "items": "Items",
    "interactions": "Interactions",
    "groups": "Groups of students",
    "students": "Students",
    "design": "Design and warnings",
    "method": "Model and method",
    "glossary": "Glossary",
}
DECISIONS = {
    "cut": "A student passes from a mean score of {cuts} by the average rater.",
    "cuts": "Grades begin at mean scores of {cuts} by the average rater.",
    "yes": "yes",
    "no": "no",
    "picture": "Each mark is a student. The dashed lines are the cuts, on the scale of raw results (vertical) and of "
    "ability (horizontal). Where a mark is on different sides of the two, the raters’ severity decided the raw result.",
    "exam": "How well this exam decides",
    "exam_lead": "Accuracy is the chance that a student has the right grade; consistency, that another marking gives "
    "the same grade. The raw result is the mean score as it stands, the fair one takes account of who marked.",
    "students": "Student by student, the least sure first",
    "more": "decisions.csv has all students.",
    "plan": "What to mark again",
    "plan_lead": "One further mark is one more rater’s reading of all of a student’s items. The gain is the expected "
    "rise in the probability that the grade is right. Once these marks are in, fit again and ask again.",
}
RESULTS = {"raw": "Raw result", "fair": "Fair result"}
CLASSIFIERS = {
    "posterior": "given all ratings",
    "Rudner": "Rudner’s method",
    "Lee": "Lee’s method (same raters again)",
}
MAP_LEAD = (
    "Students are at their ability, as in the table of students. A rater is level with the students who can expect "
    "{mark} from that rater on an average item; an item, with those who can expect that from an average rater. Raters "
    "higher up ask for more; items higher up are harder."
)
ABILITIES_LEAD = (
    "How abilities are distributed, as estimated from the ratings, beside a normal distribution (dashed) with the same "
    "median and the same middle two thirds."
)
CAPABILITY_LEAD = "Each line is a 95 % interval: the range that the ratings support."
SEVERITY_LEAD = (
    "What limits a rater: severity (left is lenient, right is severe) or discrimination (higher is better)."
)
CATEGORIES_LEAD = (
    "How likely each score is by ability, from a rater of average severity. A score that is nowhere the likeliest adds "
    "little; dotted lines are where a score and the next one are equally likely."
)
SCORES_LEAD = (
    "The mean measure is the average of ability less severity and difficulty where the score was given, in the units "
    "of severity: it should rise from score to score. A threshold is where a score and the one below are equally "
    "likely (for graded scores: where half of the students reach the score). Infit and outfit are 1 where a score is "
    "given as the model expects."
)
FIT = {
    "lead": "How well the model describes each rater. Mean squares above 1 are noisier than expected, below 1 more "
    "predictable; z beyond ±2 is rarely chance. The correlation is that of scores with ability according to the other "
    "raters.",
    "unexpected": "Unexpected ratings",
    "unexpected_lead": "Scores that had a probability of at most 5 % according to the student’s other raters, the "
    "least likely first. A few in every hundred are chance.",
    "bias": "Rater bias by item and group",
    "bias_lead": "How much more severe than elsewhere a rater is on one item, facet or group, the clearest first; "
    "negative: more lenient.",
    "pairs": "Pairs of raters",
    "pairs_lead": "Every two raters who marked the same work, those who agree least beside what the model expects "
    "first.",
}
CATEGORY_USE_LEAD = (
    "How each rater uses the scale: the thick bar is what was given, the thin one what a rater of this severity and "
    "discrimination who uses the scale as the panel does would give for the same work. Who differs most comes first."
)
SEVERITY_CONTOURS = "Capability is constant along each curve."
LETTER_PICTURE = "The severity of all raters: each line is a rater, the dot is you."
LETTER_EXAMPLES = "Scores of yours to look at again"
LETTER_SIGNED = ("Name", "Date", "Signature")
PRINT_STUDENTS = "Print this list, too"
LETTERS, LETTER = "Print letters to raters", "Print letter"
LETTER_PASSES = (
    "Passes of 100: how many of 100 borderline students you would pass; the average rater passes 50."
)
LETTER_MARKS = (
    "Middle mark: to how many of 100 students you give it or more; the average rater gives it to 50."
)
LETTER_NUMBERS = (
    "Sharpness says how closely your scores follow ability: 1 is a rater without error, 0 no relation. The ranges are "
    "those that your ratings support."
)
UNRANKED = "There are no ranks, since chance explains the differences."
RATERS_LEAD = "Click a name for details, or a heading to sort."
INTERACTIONS_LEAD = (
    "How much more severe than usual a rater is on one item, or level of a facet; negative: more lenient."
)
ITEMS_LEAD = "How hard each item is for an average student with an average rater."
STUDENTS_LEAD = "What all ratings together say about each student, adjusted for who rated them."
FAIR_LEAD = "The fair average is the mean score that the average rater would have given."
STUDENTS_CUT = "This file has the first {shown} of {all} students; students.csv has all of them."
NOTHING_UNUSUAL = "No problems were found in the data or the fit."
REPAIRS_LEAD = "These additional ratings would link all raters:"
FEW_LEAD = "These raters have too few ratings for a precise severity (standard error {se}):"
NOTES = "How the file was read"
REPRODUCE = "How to reproduce"
IN_SHELL = "On the command line"
IN_PYTHON = "In Python"
DECIDED = "The data decided"
ASSUMED = "Assumptions"
MADE_BY = "Made by Raterlens {version}. This file is self-contained and works offline."
NO_SCRIPT = "Sorting, searching, rater pages and downloads need JavaScript; {n} are listed here."

DRAWS_LEAD = (
    "Some raters answered the same question several times. Their answers share the rater's reading of the work, so "
    "they are worth less than as many raters. The picture shows what the majority (for ordered scores, the mean) of "
    "several answers is worth. Consistency is how often two answers to a question agree. The three shares say where "
    "differences between answers come from: the work, the rater's own reading of it, and chance. Asking again "
    "removes chance only; the last column says after how many answers a typical second rater tells more."
)
GROUPS_LEAD = "Mean ability of each group of students, in standard deviations of ability within groups."
HEADINGS = {
    "rank": "Rank",
    "rater": "Rater",
    "item": "Item",
    "student": "Student",
    "n": "Ratings",
    "mean_score": "Mean score",
    "rho": "Discrimination",
    "eta": "Severity",
    "kappa": "Capability",
    "delta": "Difficulty",
    "theta": "Ability",
    "slope": "Slope",
    "criterion": "Criterion",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "prevalence": "Share of passes",
    "flag": "Flag",
    "label": "Verdict",
    "sentence": "Why",
    "next_step": "Next step",
    "standard": "Standard",
    "sharpness": "Sharpness",
    "sharpness_verdict": "Sharpness, in words",
    "passes": "Passes",
    "costs_most": "Costs most",
    "lost_to_severity": "Lost to severity",
    "lost_to_discrimination": "Lost to discrimination",
    "lost_to_halo": "Lost to halo",
    "lost_to_categories": "Lost to use of the scale",
    "category_use": "Use of the scale",
    "halo_verdict": "Halo",
    "best_severity": "Best severity",
    "best_kappa": "Capability at best severity",
    "infit": "Infit",
    "outfit": "Outfit",
    "correlation": "Point-measure correlation",
    "fair_average": "Fair average",
    "score": "Score",
    "expected": "Expected",
    "probability": "Probability",
    "row": "Row",
    "of": "Of",
    "facet": "Facet",
    "level": "Level",
    "severity": "More severe by",
    "p_adjusted": "p, adjusted",
    "other": "Other rater",
    "agreement": "Agreement",
    "cohen": "Cohen’s kappa",
    "weighted_kappa": "Weighted kappa",
    "share": "Share",
    "measure": "Mean measure",
    "threshold": "Threshold",
    "link": "Links",
    "needed": "Needed",
    "raw": "Raw result",
    "raw_grade": "Raw grade",
    "fair": "Fair result",
    "grade": "Fair grade",
    "sure": "Probability",
    "safe": "Safe",
    "same_again": "Same again",
    "result": "Result",
    "method": "Method",
    "by": "Result and method",
    "accuracy": "Accuracy",
    "consistency": "Consistency",
    "questions": "Questions asked again",
    "answers": "Answers each",
    "share_answer": "Share: the work",
    "share_reading": "Share: the rater's reading",
    "share_draw": "Share: chance",
    "second_judge": "Second rater after",
    "group": "Group",
    "students": "Students",
    "right": "Probability now",
    "gain": "Gain",
    "becomes_safe": "Safe then",
}
"""Columns of tables. What belongs to a column (its error, limits, z, expectation) is named after it: `heading`."""
_PARTS = {
    "_se": ("{of} (s.e.)", "± s.e."),
    "_low": ("{of} from", "From"),
    "_high": ("{of} to", "To"),
    "_z": ("{of} (z)", "z"),
    "_expected": ("{of} expected", "Expected"),
}
_BRIEF = {
    "verdict": "Verdict",
    "interval": "95 % interval",
    "rho": "Discri\u00admination",
    "correlation": "Corre\u00adlation",
    "agreement": "Agreed",
    "probability": "Probability, %",
}
"""Headings of the page that are not those of the workbook."""


def heading(column: str, *, brief: bool = False) -> str:
    """A column in words; brief where it stands beside the column that it belongs to.

    Examples
    --------
    >>> heading("eta"), heading("eta_se"), heading("kappa_low"), heading("new"), heading("p_pass")
    ('Severity', 'Severity (s.e.)', 'Capability from', 'new', 'Probability of pass')
    >>> heading("eta_se", brief=True), heading("infit_z", brief=True)
    ('± s.e.', 'z')
    """
    if brief and column in _BRIEF:
        return _BRIEF[column]
    if column in HEADINGS:
        return HEADINGS[column]
    if column.startswith("p_"):
        return f"Probability of {column.removeprefix('p_')}"
    for end, (full, short) in _PARTS.items():
        if column.endswith(end) and (of := column.removesuffix(end)) in HEADINGS:
            return short if brief else full.format(of=HEADINGS[of])
    return column


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
    "reading": "Reading effect",
    "halo": "Halo",
    "piece": "Piece effect",
    "interactions": "Interactions",
    "covariance": "Standard errors",
    "converged": "Converged",
}
READING = "{spread} (what all scores of a reading share besides ability; it may be the text, not the rater)"
HALO = "{spread} (what all scores of a reading share besides the quality of the piece)"
PIECES = (
    "{spread} (how much a student's pieces differ; a piece speaks for its author by a factor of {speaks})"
)
INTERACTION = "{term}: spread {spread} ({interval}), {p}"
NO_UPPER_LIMIT = "upper limit not known"
NO_ERRORS = "Not computed: there are no intervals"

RATER: Mapping[str, str] = {
    "categories": "Use of the scale",
    "categories_lead": "Bars: shares of the scores this rater gave. Diamonds: shares that a rater of this severity and "
    "discrimination who uses the scale as the panel does would give for the same work, with 95\u00a0% margins.",
    "back": "All raters",
    "previous": "Previous",
    "next": "Next",
    "of": "{place} of {all}",
    "rank": "Rank by capability",
    "passes": "Passes of 100",
    "marks": "Middle mark, of 100",
    "sensitivity": "Sensitivity (true passes passed)",
    "specificity": "Specificity (true fails failed)",
    "curve": "Capability by ability",
    "curve_lead": "How strongly this rater's scores respond to ability, from weak students (left) to strong ones "
    "(right). The grey area shows where the students are.",
    "curve_band": "The band is the 95 % interval.",
    "what_if": "What if severity changed?",
    "what_if_lead": "Move the slider to see this rater's capability at another severity, all else being equal.",
    "slider": "Severity",
    "mark_now": "estimate",
    "mark_best": "best",
    "mark_moved": "slider",
    "evidence": "Evidence",
    "unexpected": "Most unexpected ratings",
    "feedback": "Feedback to send",
    "copy": "Copy text",
    "to_best": "Best severity",
    "to_now": "Back to the estimate",
}

NO_EVIDENCE = "No fit statistics: this report was made without the ratings."

SCRIPT: Mapping[str, str] = {
    "missing": "–",
    "severer": "more severe",
    "milder": "more lenient",
    "same": "At this rater's own severity ({severity}) capability is {kappa}.",
    "better": "At severity {severity} ({change} {way}) capability would be {kappa}: {gain} more.",
    "worse": "At severity {severity} ({change} {way}) capability would be {kappa}: {gain} less.",
    "level": "At severity {severity} ({change} {way}) capability would stay at {kappa}.",
    "best": "This rater's best severity is {severity}, with capability {kappa}.",
    "at_best": "This is close to the rater's best severity.",
    "fit_as": "Ratings are about as predictable as the model expects",
    "fit_noisy": "Ratings are {percent} % noisier than the model expects",
    "fit_calm": "Ratings are {percent} % more predictable than the model expects",
    "fit_numbers": "(infit {infit}, outfit {outfit}).",
    "unexpected": "Student {student}, {item}: scored {score}, where {expected} was expected ({chance}).",
    "chance": "probability {percent} %",
    "chance_tiny": "probability below 0.1 %",
    "shown": "{from}–{to} of {count}",
    "none": "No rater matches. Clear the search, or show all raters.",
    "found": "{count} found",
    "interval": "{low} to {high}",
    "error": "± {se}",
    "of": "{place} of {all}",
    "copied": "Copied",
    "no_flags": "No pattern in this rater's ratings stands out beyond chance.",
    "no_unexpected": "None of this rater's ratings is among the most unexpected.",
    "next": "Next:",
    "select": "Press Ctrl+C to copy",
}

FIND = {
    "search": "Find a rater or a verdict",
    "show": "Show",
    "everyone": "all raters",
    "attention": "needs attention",
    "flagged": "other patterns",
    "borderline": "borderline",
    "unclear": "not known yet",
    "fine": "fine",
    "previous": "Previous page",
    "next": "Next page",
    "csv": "Download CSV",
}
