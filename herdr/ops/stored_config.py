"""As much of a project's stored configuration as operations need, so that the whole need not be imported."""

from __future__ import annotations

import msgspec

from herdr.contract.words import RuntimeName
from herdr.store.rows import Project


class WorkerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How many workers run at a time."""

    max_concurrent: int = 4


class RoleConfigs(msgspec.Struct, frozen=True, kw_only=True):
    """The roles whose settings are shown."""

    worker: WorkerConfig = WorkerConfig()


class StoredConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Where the agents run, and how many."""

    runtime: RuntimeName = "subprocess"
    roles: RoleConfigs = RoleConfigs()


def stored_config(project: Project) -> StoredConfig:
    """What is needed of the configuration that is in force for a project."""
    return msgspec.json.decode(project.config, type=StoredConfig)


def in_background(project: Project) -> bool:
    """Whether a project's agents run without a terminal (`runtime = "subprocess"`)."""
    return stored_config(project).runtime == "subprocess"
