"""Small files in the layouts that people really have, each with the ratings that stand in it."""
