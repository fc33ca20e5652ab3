"""What people keep: the report, a folder of files, Excel, xarray, FACETS tables, and a gate for pipelines."""
