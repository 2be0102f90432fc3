"""Installs small plugins as pip would leave them: a module and its metadata in a folder on the path."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

HEAD = """
from herdr.api import BriefSection, ClaimAnswer, DoctorCheck, DoctorResult, EvaluationResult, OutsideIdea
from herdr.api import hookimpl
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """`install("name", code)` makes a distribution `name` whose module is registered as the plugin `name`."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    modules: list[str] = []

    def install(
        name: str, code: str, *, plugin: str | None = None, group: str = "herdr", target: str = ""
    ) -> None:
        module = f"plugin_{name}"
        (site / f"{module}.py").write_text(HEAD + dedent(code))
        info = site / f"{module}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{plugin or name} = {module}{target}\n")
        modules.append(module)
        importlib.invalidate_caches()

    yield install
    for module in modules:
        sys.modules.pop(module, None)
