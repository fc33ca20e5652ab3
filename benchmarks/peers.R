# Rscript peers.R lme4|glmmTMB ratings.csv OUT: the three-facets model as a mixed model with a random student.
given <- commandArgs(trailingOnly = TRUE)
ratings <- read.csv(given[2], stringsAsFactors = TRUE)
ratings$student <- factor(ratings$student)
formula <- score ~ 0 + rater + item + (1 | student)
fitted <- if (given[1] == "lme4") {
  used <- system.time(fit <- lme4::glmer(formula, ratings, family = binomial, nAGQ = 1))
  lme4::fixef(fit)
} else {
  used <- system.time(fit <- glmmTMB::glmmTMB(formula, ratings, family = binomial))
  glmmTMB::fixef(fit)$cond
}
write.csv(data.frame(name = names(fitted), estimate = fitted), file.path(given[3], "effects.csv"))
cat(used[["elapsed"]], used[["user.self"]] + used[["sys.self"]], as.numeric(logLik(fit)), "\n")
