"""One module per file format, and the registry that finds the right one."""
