# Rscript peers.R PACKAGE ratings.csv OUT: the three-facets model, with a random student (fixest: a fixed effect for each).
# Prints the wall and CPU seconds of the fit and its log-likelihood; OUT/raters.csv has the severities.
given <- commandArgs(trailingOnly = TRUE)
ratings <- read.csv(given[2], stringsAsFactors = TRUE)
ratings$student <- factor(ratings$student)
formula <- score ~ 0 + rater + item + (1 | student)
clock <- function(work) used <<- system.time(fit <<- work())
wide <- function() {
  table <- reshape(ratings, direction = "wide", idvar = c("student", "rater"), timevar = "item", v.names = "score")
  table[order(table$student, table$rater), ]
}
# Severities, from effects on the score whose names begin with the name of the column.
severities <- function(effects) {
  effects <- effects[startsWith(names(effects), "rater")]
  -setNames(effects, sub("rater", "", names(effects), fixed = TRUE))
}
severity <- switch(given[1],
  lme4 = {
    clock(function() lme4::glmer(formula, ratings, family = binomial, nAGQ = 1))
    severities(lme4::fixef(fit))
  },
  `lme4, nAGQ 0` = {
    clock(function() lme4::glmer(formula, ratings, family = binomial, nAGQ = 0))
    severities(lme4::fixef(fit))
  },
  glmmTMB = {
    clock(function() glmmTMB::glmmTMB(formula, ratings, family = binomial))
    severities(glmmTMB::fixef(fit)$cond)
  },
  TAM = {
    table <- wide()
    rater <- data.frame(rater = table$rater)
    clock(function() suppressMessages(TAM::tam.mml.mfr(
      table[, -(1:2)], facets = rater, formulaA = ~ item + rater, pid = table$student, verbose = FALSE
    )))
    found <- subset(fit$xsi.facets, facet == "rater")
    setNames(found$xsi, sub("rater", "", found$parameter, fixed = TRUE))
  },
  sirt = {
    table <- wide()
    clock(function() sirt::rm.facets(
      table[, -(1:2)], pid = table$student, rater = table$rater, est.a.item = FALSE, est.a.rater = FALSE,
      maxiter = 1000, PEM = FALSE
    ))
    setNames(fit$rater$b, fit$rater$rater)
  },
  mirt = {
    # A column per rater and item; what they have in common is the design of the columns.
    by <- interaction(ratings$rater, ratings$item, drop = TRUE)
    table <- reshape(
      data.frame(ratings[, c("student", "score")], by), direction = "wide", idvar = "student", timevar = "by"
    )[, -1]
    cell <- ratings[match(sub("score.", "", names(table), fixed = TRUE), by), c("rater", "item")]
    rownames(cell) <- names(table)
    clock(function() mirt::mirt(
      table, 1, itemtype = "Rasch", itemdesign = cell, item.formula = ~ 0 + rater + item, TOL = 1e-6, verbose = FALSE
    ))
    logLik <- function(fit) mirt::extract.mirt(fit, "logLik")
    values <- mirt::mod2values(fit)
    effect <- values[values$item == names(table)[1], ]
    severities(setNames(effect$value, effect$name))
  },
  mfrmr = {
    # Without a formula for the population, abilities would be standard normal, with no spread of their own.
    students <- data.frame(student = levels(ratings$student))
    clock(function() mfrmr::fit_mfrm(
      ratings, "student", c("rater", "item"), "score", method = "MML", population_formula = ~ 1, person_data = students
    ))
    logLik <- function(fit) fit$summary$LogLik
    found <- subset(fit$facets$others, Facet == "rater")
    setNames(found$Estimate, found$Level)
  },
  fixest = {
    clock(function() fixest::feglm(score ~ 1 | student + rater + item, ratings, family = binomial, notes = FALSE))
    -fixest::fixef(fit)$rater
  }
)
write.csv(data.frame(rater = names(severity), severity), file.path(given[3], "raters.csv"), row.names = FALSE)
seconds <- c(used[["elapsed"]], used[["user.self"]] + used[["sys.self"]])
cat("\n", format(c(seconds, logLik(fit)), digits = 12), "\n")
