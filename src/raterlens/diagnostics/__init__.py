"""Diagnostics: findings about raters, items, students and the model."""
