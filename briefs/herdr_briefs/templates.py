"""The templates of a brief, each of which a project may replace by one of its own."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from herdr.api import HerdrError

#: Where a project keeps its own templates, relative to its root.
OVERRIDES = Path(".piloop", "templates")


class BriefError(HerdrError):
    """A brief cannot be composed because of a template; the message names the file and, if known, the line."""


class Templates:
    """Renders `<name>.md` of the project, or else the built-in one.

    A project's template is less trusted than herdr: it runs in a sandbox and is given plain strings only.
    """

    def __init__(self, project: Path) -> None:
        loaders = [project / OVERRIDES, Path(__file__).with_name("templates")]
        self._environment = ImmutableSandboxedEnvironment(
            loader=jinja2.FileSystemLoader(loaders),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.overrides = project / OVERRIDES

    def has(self, name: str) -> bool:
        """Whether there is a template of that name."""
        return name.isidentifier() and f"{name}.md" in self._environment.list_templates(extensions=["md"])

    def render(self, name: str, values: Mapping[str, str]) -> str:
        """Fill in a template.

        Args:
            name: the template's, without `.md`.
            values: what it may ask for; a value is text and never executed.

        Raises:
            BriefError: it is not readable, is no valid template, or asks for what it may not have.
        """
        file = f"{name}.md"
        try:
            return self._environment.get_template(file).render(values).strip()
        except jinja2.TemplateSyntaxError as error:
            where = f"{error.filename or file}, line {error.lineno}"
            raise self._broken(where, error.message or "is no valid template") from error
        except UnicodeDecodeError as error:
            raise self._broken(str(self.overrides / file), "is not UTF-8 text") from error
        # Whatever else a template does wrong can be any exception of Python's.
        except Exception as error:
            raise self._broken(_where(error) or str(self.overrides / file), str(error)) from error

    def _broken(self, where: str, problem: str) -> BriefError:
        return BriefError(f"{where}: {problem}", fix="correct it, or remove the file to use herdr's own")


def _where(error: Exception) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(".md")]
    return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else ""
