"""`polyresearch forge`: issues, comments and pull requests of a local forge, for people without GitHub."""
