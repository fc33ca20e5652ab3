"""What the estimates say about each rater."""
