"""`python -m herdr.cli.docs FOLDER` writes the generated pages into a folder."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from herdr.cli.docs import commands, configuration, events

#: File name -> what renders the whole page.
PAGES = {"commands.md": commands.render, "configuration.md": configuration.render, "events.md": events.render}


def main(folder: Path) -> None:
    """Write every page, and name those that changed."""
    for name, render in PAGES.items():
        file, text = folder / name, render()
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")
            click.echo(f"wrote {file}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
