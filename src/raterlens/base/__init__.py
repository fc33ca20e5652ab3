"""Foundations: errors, text, types, atomic files, threads, processes, Dask workers."""
