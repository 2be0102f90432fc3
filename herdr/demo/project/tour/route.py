"""A round trip that can be changed in place."""

from __future__ import annotations

from .problem import Problem


class Route:
    """The cities in the order of the trip, and the place of each in it."""

    def __init__(self, order: list[int]) -> None:
        self.order: list[int] = []
        self.place = [0] * len(order)
        self.replace(order)

    def replace(self, order: list[int]) -> None:
        """Take over another order of the same cities."""
        self.order = order
        for place, city in enumerate(order):
            self.place[city] = place

    def after(self, city: int) -> int:
        """The city that follows."""
        place = self.place[city] + 1
        return self.order[place if place < len(self.order) else 0]

    def before(self, city: int) -> int:
        """The city that precedes."""
        return self.order[self.place[city] - 1]

    def path(self, first: int, last: int) -> list[int]:
        """The cities from `first` to `last`, both included, in the direction of the trip."""
        start, end = self.place[first], self.place[last] + 1
        return self.order[start:end] if start < end else self.order[start:] + self.order[:end]

    def reverse(self, first: int, last: int) -> None:
        """Go from `first` to `last` the other way round, by changing the shorter side of the trip."""
        size = len(self.order)
        start, count = self.place[first], (self.place[last] - self.place[first]) % size + 1
        if 2 * count > size:
            start, count = self.place[last] + 1, size - count
        cities = [self.order[(start + step) % size] for step in range(count)]
        for step, city in enumerate(reversed(cities)):
            place = (start + step) % size
            self.order[place] = city
            self.place[city] = place

    def length(self, problem: Problem) -> int:
        """The length of the whole trip, the way home included."""
        return sum(
            problem.distance[a][b] for a, b in zip(self.order, self.order[1:] + self.order[:1], strict=True)
        )
