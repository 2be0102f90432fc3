"""The plugin host: finds plugins, calls each on its own, and goes on when one of them fails."""

from __future__ import annotations

import logging
import os

from herdr.plugins.calls import Answer
from herdr.plugins.commands import find_command
from herdr.plugins.host import PluginError, PluginHost
from herdr.plugins.loading import PluginRow

__all__ = ["Answer", "PluginError", "PluginHost", "PluginRow", "find_command"]

# A command says by itself what failed. Without this Python would print each traceback on stderr, beside it, as it
# does where nobody listens to a log; the daemon's log gets them all the same.
if not os.environ.get("HERDR_DEBUG"):
    logging.getLogger("herdr.plugins").addHandler(logging.NullHandler())
