"""The plugin host: finds plugins, calls each on its own, and goes on when one of them fails."""

from __future__ import annotations

from herdr.plugins.calls import Answer
from herdr.plugins.commands import find_command
from herdr.plugins.host import PluginError, PluginHost
from herdr.plugins.loading import PluginRow

__all__ = ["Answer", "PluginError", "PluginHost", "PluginRow", "find_command"]
