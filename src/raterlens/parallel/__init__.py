"""Work side by side: in threads, in processes of this machine, or on the workers of a Dask cluster."""
