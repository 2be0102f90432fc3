"""From the bytes of `piloop.toml` and the environment to a `Config`, or to every mistake in them."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import tomli

from herdr.config.environment import Overrides
from herdr.config.mistakes import ConfigError, Mistake
from herdr.config.rules import broken_rules
from herdr.config.shape import Shape
from herdr.config.structs import Config

FILE_NAME = "piloop.toml"
POSITION = re.compile(r" \(at (.*)\)$")


def read_config(root: Path, environ: Mapping[str, str]) -> Config:
    """The configuration of the project in `root`.

    Args:
        root: the repo, with the file in it.
        environ: where `PILOOP_PROJECT_<KEY>` overrides the file's keys, nested ones as `ROLES__WORKER__TIMEOUT`.

    Raises:
        ConfigError: with every mistake of the file and of the variables.
    """
    overrides = Overrides(environ, file_type())
    data = overrides.lay_over(read_data(root))
    shape = Shape()
    checked = shape.check(file_type(), data, "")
    found = [*overrides.mistakes, *shape.mistakes, *broken_rules(checked)]
    if found:
        raise ConfigError(root / FILE_NAME, [overrides.named(mistake) for mistake in found])
    return msgspec.convert(checked, Config)


@functools.cache
def file_type() -> msgspec.inspect.Type:
    """What the types say about the file."""
    return msgspec.inspect.type_info(Config)


def read_data(root: Path) -> dict[str, Any]:
    """The tables of the file as they are written, unchecked.

    Raises:
        ConfigError: it cannot be read, or is not TOML; one mistake.
    """
    file = root / FILE_NAME
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        raise single_mistake(file, str(file), "there is no such file", "run herdr init in the repo") from None
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise single_mistake(file, str(file), problem, "make it a file that you may read") from None
    try:
        return tomli.loads(raw.decode())
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        problem = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise single_mistake(file, f"{FILE_NAME} line {line}", problem, "save the file as UTF-8") from None
    except RecursionError:
        raise single_mistake(file, FILE_NAME, "nested too deeply", "use fewer tables inside each other") from None
    except ValueError as error:
        raise syntax_error(file, raw, str(error)) from None


def syntax_error(file: Path, raw: bytes, message: str) -> ConfigError:
    """What the TOML reader said, with the line's number in front.

    Args:
        file: the file, for the error.
        raw: its bytes; the last line of them is named where the reader gives no position.
        message: what the TOML reader said.
    """
    message = " ".join(message.split())
    position = POSITION.search(message)
    where, problem = (position[1], message[: position.start()]) if position else ("", message)
    line = re.match(r"line (\d+)", where)
    if line or position:
        number = line[1] if line else str(len(raw.splitlines()) or 1)
        return single_mistake(
            file, f"{FILE_NAME} line {number}", f"not TOML: {problem}", "correct this line; text needs quotes"
        )
    return single_mistake(file, FILE_NAME, f"not TOML: {problem}", "use a value that fits")


def single_mistake(file: Path, path: str, problem: str, fix: str) -> ConfigError:
    """An error of one mistake, for a file that cannot be read: its keys are not looked at then.

    Args:
        file: the file that cannot be used.
        path: where the mistake is: the file itself, or a line of it.
        problem: what is wrong, in words that follow a colon.
        fix: what to do about it.
    """
    return ConfigError(file, [Mistake(path, problem, fix)])
