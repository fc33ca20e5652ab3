# Rscript peers.R lme4|glmmTMB|TAM|sirt|mirt ratings.csv OUT: the three-facets model, with a random student.
given <- commandArgs(trailingOnly = TRUE)
ratings <- read.csv(given[2], stringsAsFactors = TRUE)
ratings$student <- factor(ratings$student)
formula <- score ~ 0 + rater + item + (1 | student)
clock <- function(work) used <<- system.time(fit <<- work())
wide <- function() {
  table <- reshape(ratings, direction = "wide", idvar = c("student", "rater"), timevar = "item", v.names = "score")
  table[order(table$student, table$rater), ]
}
fitted <- switch(given[1],
  lme4 = {
    clock(function() lme4::glmer(formula, ratings, family = binomial, nAGQ = 1))
    lme4::fixef(fit)
  },
  glmmTMB = {
    clock(function() glmmTMB::glmmTMB(formula, ratings, family = binomial))
    glmmTMB::fixef(fit)$cond
  },
  TAM = {
    table <- wide()
    rater <- data.frame(rater = table$rater)
    clock(function() suppressMessages(TAM::tam.mml.mfr(
      table[, -(1:2)], facets = rater, formulaA = ~ item + rater, pid = table$student, verbose = FALSE
    )))
    setNames(fit$xsi$xsi, rownames(fit$xsi))
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
    effect <- values[values$item == names(table)[1] & grepl("^(rater|item)", values$name), ]
    setNames(effect$value, effect$name)
  }
)
write.csv(data.frame(name = names(fitted), estimate = fitted), file.path(given[3], "effects.csv"))
cat("\n", used[["elapsed"]], used[["user.self"]] + used[["sys.self"]], as.numeric(logLik(fit)), "\n")
