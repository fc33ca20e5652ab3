"""Results for other programs: a folder of files, Excel, xarray, FACETS tables, and a gate for pipelines."""
