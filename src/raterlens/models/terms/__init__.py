"""The effects of facets models, one per file."""
