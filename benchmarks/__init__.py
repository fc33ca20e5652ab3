"""Measured comparisons with other software."""

import os

# An installed package has its modules compiled, and so has a checkout after its first run.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
