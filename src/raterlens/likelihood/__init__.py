"""The marginal likelihood of a model on ratings: its value, gradient and information, through an engine."""
