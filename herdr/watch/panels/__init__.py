"""The panels, a module each, in the order in which they stand on the screen."""

from __future__ import annotations

from typing import Any

from herdr.watch.panel import Panel

from .agents import AgentsPanel
from .candidates import CandidatesPanel
from .ideas import IdeasPanel
from .inbox import InboxPanel

PANELS: tuple[type[Panel[Any, Any]], ...] = (InboxPanel, AgentsPanel, IdeasPanel, CandidatesPanel)
