"""Time and memory, of Raterlens and of other programs: `make bench`, or `python -m benchmarks.speed.NAME`."""
