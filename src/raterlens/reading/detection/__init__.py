"""What a file says without being asked: one detector per module, each from plain values to findings."""
