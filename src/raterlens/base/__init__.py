"""What every room needs: errors, text, types, files written whole, threads, processes, and the workers of a Dask cluster."""
