"""What every room needs: errors, text, types, files written whole, threads, processes, Dask workers."""
