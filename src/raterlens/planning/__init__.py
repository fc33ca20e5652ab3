"""Before and during the marking: designs and what to expect of them, what to mark next, what to re-mark."""
