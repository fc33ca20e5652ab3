"""How sure a fit is: comparisons of raters, profile likelihood and bootstrap."""
