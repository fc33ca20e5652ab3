"""Charts: plot data first (plain frames, tested), drawing second (SVG that needs nothing else)."""
