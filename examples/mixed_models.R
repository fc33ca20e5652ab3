# Rscript mixed_models.R ratings.csv ordered.csv
# The models of docs/coming-from.md as mixed models of R: the log-likelihood of each, to hold against Raterlens.
given <- commandArgs(trailingOnly = TRUE)

sum_to_zero <- function(path) {
  d <- read.csv(path, stringsAsFactors = TRUE)
  contrasts(d$rater) <- contr.sum(nlevels(d$rater))
  contrasts(d$item) <- contr.sum(nlevels(d$item))
  d
}

report <- function(package, model, fit) {
  cat(sprintf("%-8s %-10s %-34s %12.4f\n", package, as.character(packageVersion(package)), model, logLik(fit)))
}

d <- sum_to_zero(given[1])
tfm <- glmmTMB::glmmTMB(score ~ rater + item + (1 | student), d, family = binomial)
report("glmmTMB", "tfm, Laplace", tfm)
gmf <- glmmTMB::glmmTMB(score ~ rater + item + rr(0 + rater | student, 1), d, family = binomial)
report("glmmTMB", "gmf, Laplace", gmf)
fine <- lme4::glmer(score ~ rater + item + (1 | student), d, family = binomial, nAGQ = 15,
                    control = lme4::glmerControl(optimizer = "nloptwrap", calc.derivs = FALSE))
report("lme4", "tfm, adaptive quadrature", fine)

o <- sum_to_zero(given[2])
graded <- ordinal::clmm(factor(score) ~ rater + item + (1 | student), o, nAGQ = 15)
report("ordinal", "tfm graded, adaptive quadrature", graded)

cat("\nseverity of the first raters, glmmTMB tfm and clmm\n")
print(rbind(glmmTMB = -glmmTMB::fixef(tfm)$cond[2:4], clmm = -graded$beta[1:3]))
cat("slope of the first raters, glmmTMB gmf\n")
print(abs(gmf$obj$env$report(gmf$fit$parfull)$fact_load[[1]][1:3]))
