"""Ways to build a first tour: each module has `build(problem) -> list[int]`."""
