"""The first tour."""

from __future__ import annotations

from importlib import import_module

from .problem import Problem
from .route import Route
from .settings import START


def construct(problem: Problem) -> Route:
    """Build a tour with the start that the settings name."""
    start = import_module(f"{__package__}.starts.{START}")
    return Route(start.build(problem))
