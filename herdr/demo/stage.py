"""Where a demo takes place: its folder, its repo, its own home, and the environment that leads there."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from herdr.errors import HerdrError
from herdr.home import Home, disk_error


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of a demo. The user's own home and campaigns are not touched: it brings a home of its own."""

    folder: Path
    environ: Mapping[str, str]

    @property
    def root(self) -> Path:
        """The repo."""
        return self.folder / "tour"

    @property
    def home(self) -> Home:
        """The home, with a tmux socket of its own."""
        return Home.from_environ(self.environ)

    @property
    def plot(self) -> Path:
        """The metric over the candidates, as a picture."""
        return self.folder / "metric.svg"

    @property
    def output(self) -> Path:
        """What the daemon prints, normally nothing."""
        return self.folder / "daemon.out"


def set_stage(directory: Path | None, environ: Mapping[str, str]) -> Stage:
    """Make the folder, or take an empty one.

    Args:
        directory: where; None makes a new folder among the temporary files.
        environ: the user's. What would lead to another home or change the demo's project is left out.

    Raises:
        HerdrError: it is in use, or cannot be made.
    """
    try:
        if directory is None:
            folder = Path(tempfile.mkdtemp(prefix="herdr-demo-")).resolve()
        else:
            folder = directory.expanduser().resolve()
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise HerdrError(f"{folder} is not empty", fix="name a new directory: herdr demo DIR")
    except OSError as error:
        raise disk_error(error, directory or Path(tempfile.gettempdir())) from error
    kept = {name: value for name, value in environ.items() if not name.startswith(("PILOOP_", "HERDR_"))}
    return Stage(folder=folder, environ={**kept, "PILOOP_HOME": str(folder / "home")})
