"""What can be turned without writing code."""

from __future__ import annotations

# The module of tour.starts that builds the first tour.
START = "nearest"

# How many of its nearest cities a city is ever joined to by an improvement.
NEIGHBOURS = 5

# Where the random numbers start, so that the same code always gives the same tour.
SEED = 1
