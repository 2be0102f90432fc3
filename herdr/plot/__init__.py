"""The metric of a campaign over its candidates, over time and over tokens: as a picture, and for a terminal."""

from __future__ import annotations

from .across import Over
from .points import Point
from .svg import svg_plot
from .text import text_plot

__all__ = ["Over", "Point", "svg_plot", "text_plot"]
