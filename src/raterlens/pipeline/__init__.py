"""From a request and ratings to a result, step by step: one way for every model, with steps of its family."""
