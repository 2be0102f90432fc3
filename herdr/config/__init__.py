"""`piloop.toml`: what a project says about itself."""

from __future__ import annotations

from herdr.config.later import LATER_KEYS, later_keys
from herdr.config.mistakes import ConfigError, Mistake
from herdr.config.reading import FILE_NAME, read_config, read_data
from herdr.config.structs import Config, HarnessKeys, Metric, Role, Tmux

__all__ = [
    "FILE_NAME",
    "LATER_KEYS",
    "Config",
    "ConfigError",
    "HarnessKeys",
    "Metric",
    "Mistake",
    "Role",
    "Tmux",
    "later_keys",
    "read_config",
    "read_data",
]
