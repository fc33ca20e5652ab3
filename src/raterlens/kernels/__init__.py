"""Every compiled function, and the rule for when compiling pays. Small data never load this room."""
