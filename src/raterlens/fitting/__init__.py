"""From a request and ratings to a `Fit`: the straight line, assumptions, and what users hold."""
