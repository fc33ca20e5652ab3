"""Every compiled function, written in C (`c/`), and the rule for when compiled code pays."""
