"""From a path or a dataframe to `Ratings`: formats, columns, labels and scores."""
