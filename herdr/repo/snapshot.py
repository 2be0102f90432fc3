"""What of the person's git configuration holds for herdr and for agents, as it was at `herdr up`.

Only keys that say how files and commits are made are taken: a configuration can name programs for nearly everything
else. Filters and merge drivers are programs too, but without them the files would not be the person's own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from herdr.repo.checks import common_dir
from herdr.repo.git import run_git

#: In the git folder of herdr's own repository.
FILE = "snapshot.json"

#: Keys that are taken over, as git lists them: section and name in lower case, what stands between as it is written.
TAKEN = re.compile(
    r"""
    user\.(name|email)
    | core\.(autocrlf|eol|filemode|symlinks|ignorecase|precomposeunicode|bigfilethreshold|compression
        |quotepath|commentchar|whitespace|longpaths|protecthfs|protectntfs|sparsecheckout|sparsecheckoutcone)
    | i18n\.(commitencoding|logoutputencoding)
    | filter\..*\.(clean|smudge|process|required)
    | merge\.(renames|directoryrenames|renamelimit|conflictstyle|.*\.(name|driver|recursive))
    | diff\.(renames|renamelimit|algorithm)
    | lfs\..* | submodule\..*\.(url|active)
    | extensions\.(objectformat|partialclone)
    | remote\..*\.(promisor|partialclonefilter)
    """,
    re.VERBOSE,
)
#: What is said of a value that may be a secret or a command: only that it differs.
SHOWN_KEYS = re.compile(r"(core|user|i18n|merge|diff)\.[^.]*")


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A person's configuration.

    Attributes:
        config: keys and values in git's order; a key may come more than once.
        attributes: what `core.attributesFile` and `.git/info/attributes` say.
        exclude: what `core.excludesFile` and `.git/info/exclude` say.
        shallow: the commits that a shallow clone ends at.
        replaced: refs of replaced objects, with what they name: never obeyed, and told when they change.
        grafts: whether there is a grafts file: never obeyed.
        promisor: for a partial clone, the URL of each remote that has the missing objects.
    """

    config: tuple[tuple[str, str], ...]
    attributes: bytes = b""
    exclude: bytes = b""
    shallow: bytes = b""
    replaced: tuple[str, ...] = ()
    grafts: bool = False
    promisor: tuple[tuple[str, str], ...] = ()

    def config_file(self, hooks: Path) -> str:
        """The configuration as a file of git's.

        Args:
            hooks: the folder whose hooks run.
        """
        version = 1 if any(key.startswith("extensions.") for key, _ in self.config) else 0
        lines = [
            *_entry("core.repositoryformatversion", str(version)),
            *_entry("core.bare", "true"),
            *_entry("core.logAllRefUpdates", "true"),
            *_entry("core.hooksPath", str(hooks)),
            *_entry("core.fsmonitor", "false"),
            *_entry("gc.auto", "0"),
            *_entry("maintenance.auto", "false"),
            *_entry("commit.gpgSign", "false"),
            *_entry("tag.gpgSign", "false"),
        ]
        for key, value in (*self.config, *self.promisor):
            lines += _entry(key, value)
        return "\n".join([*lines, ""])

    def format_lines(self) -> bytes:
        """The part of the configuration that says how objects are stored, for a throw-away git folder."""
        kept = [
            line for key, value in self.config if key == "extensions.objectformat" for line in _entry(key, value)
        ]
        return "\n".join([*kept, ""]).encode()

    def changes_since(self, before: Snapshot) -> list[str]:
        """What differs from an earlier snapshot, a sentence each.

        Args:
            before: the earlier one.
        """
        return [
            *_config_changes(before.config + before.promisor, self.config + self.promisor),
            *(
                ["git's attributes (info/attributes, core.attributesFile)"]
                if before.attributes != self.attributes
                else []
            ),
            *(["git's excludes (info/exclude, core.excludesFile)"] if before.exclude != self.exclude else []),
            *(["how deep the clone is (shallow)"] if before.shallow != self.shallow else []),
            *(
                ["replaced objects (git replace), which herdr never obeys"]
                if before.replaced != self.replaced
                else []
            ),
            *(["grafts, which herdr never obeys"] if before.grafts != self.grafts else []),
        ]


def take_snapshot(root: Path) -> Snapshot:
    """Read the person's configuration with the person's own git.

    Args:
        root: the checkout.

    Raises:
        GitError: the configuration cannot be read.
    """
    common = common_dir(root)
    listed = [field.partition("\n")[::2] for field in run_git(root, "config", "--list", "-z").fields]
    config = tuple((key, value) for key, value in listed if TAKEN.fullmatch(key))
    partial = {key.rsplit(".", 1)[0] for key, value in config if key.endswith(".promisor") and value == "true"}
    return Snapshot(
        config=config,
        attributes=_joined(
            _configured(listed, root, "core.attributesfile", "attributes"), common / "info/attributes"
        ),
        exclude=_joined(_configured(listed, root, "core.excludesfile", "ignore"), common / "info/exclude"),
        shallow=_content(common / "shallow"),
        replaced=tuple(run_git(root, "for-each-ref", "refs/replace").text.splitlines()),
        grafts=(common / "info/grafts").exists(),
        promisor=tuple((key, value) for key, value in listed if key.endswith(".url") and key[:-4] in partial),
    )


def _configured(listed: Sequence[tuple[str, str]], root: Path, key: str, default: str) -> Path:
    """The person's own file of attributes or excludes, as git finds it."""
    named = [value for name, value in listed if name == key]
    if named:
        return Path(run_git(root, "config", "--type=path", "--get", key).text or named[-1])
    folder = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(folder) / "git" / default


def _joined(*paths: Path) -> bytes:
    return b"".join(content.rstrip(b"\n") + b"\n" for path in paths if (content := _content(path)))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _entry(key: str, value: str) -> list[str]:
    section, _, rest = key.partition(".")
    middle, _, name = rest.rpartition(".")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    sub = middle.replace("\\", "\\\\").replace('"', '\\"')
    return [f'[{section} "{sub}"]' if middle else f"[{section}]", f'\t{name} = "{quoted}"']


def _config_changes(before: Sequence[tuple[str, str]], now: Sequence[tuple[str, str]]) -> Iterator[str]:
    old, new = _grouped(before), _grouped(now)
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) == new.get(key):
            continue
        if SHOWN_KEYS.fullmatch(key):
            yield f"{key}: {_words(old.get(key))} is now {_words(new.get(key))}"
        else:
            yield f"{key} {'is new' if key not in old else 'is gone' if key not in new else 'has another value'}"


def _grouped(config: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in config:
        found.setdefault(key, []).append(value)
    return found


def _words(values: list[str] | None) -> str:
    return ", ".join(values) if values else "not set"
