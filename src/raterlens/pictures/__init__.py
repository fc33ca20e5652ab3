"""Each picture once: plot data first (plain frames, which tests check), drawing second."""
