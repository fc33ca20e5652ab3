"""How the documentation site is built: code that runs, its output inserted, and formulas as MathML."""
