"""Rater models: parameters to log-probability tables. A model never loops over students."""
