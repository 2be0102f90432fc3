"""The files that `herdr init` writes into a repo that has none of its own."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from herdr.config.checks import project_name
from herdr.config.reading import FILE_NAME
from herdr.errors import HerdrError, UsageError

#: Ends the line of `evaluate.py` that has to be replaced by a measurement.
STUB_MARK = "# herdr: stub"
#: The configuration comes last: its presence says that the others were written.
NAMES = ("brief.md", "evaluate.py", FILE_NAME)


def write_templates(root: Path, name: str) -> list[Path]:
    """Write what is missing for a project, and overwrite nothing.

    A repo that has a `piloop.toml` is set up already, and gets nothing: its evaluate command may be any.

    Args:
        root: the repo.
        name: the project's name, for the configuration.

    Returns:
        The files that were written.

    Raises:
        UsageError: the name cannot be a project's.
        HerdrError: a file cannot be written.
    """
    fault = project_name(name)
    if fault:
        raise UsageError(f"the project name {name!r} {fault[0]}", fix=fault[1])
    if exists(root / FILE_NAME):
        return []
    missing = [root / each for each in NAMES if not exists(root / each)]
    for path in missing:
        write_new(path, template(path.name).replace("{{ name }}", name))
    return missing


def template(name: str) -> str:
    """The text of one template."""
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def is_stub(text: str) -> bool:
    """Whether an `evaluate.py` still has the line that has to be replaced."""
    return any(line.rstrip().endswith(STUB_MARK) for line in text.splitlines())


def exists(path: Path) -> bool:
    """Whether something has this name; a dangling symlink is a person's too."""
    return path.exists() or path.is_symlink()


def write_new(path: Path, text: str) -> None:
    """Write a file that does not exist yet, whole or not at all.

    Args:
        path: the file; its folder must exist.
        text: its whole content.

    Raises:
        HerdrError: there is such a file, or it cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        if not isinstance(error, FileExistsError):
            path.unlink(missing_ok=True)
        reason = error.strerror or str(error)
        fix = "make the folder writable and free some space, then run herdr init again"
        raise HerdrError(f"cannot write {path}: {reason}", fix=fix) from error
