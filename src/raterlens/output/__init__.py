"""Output that people keep: the report, a folder of files, Excel, xarray, FACETS tables."""
