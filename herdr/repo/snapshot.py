"""What of the person's git configuration holds for herdr and for agents, as it was at `herdr up`.

Only keys that say how files and commits are made are taken: a configuration can name programs for nearly
everything else. Filters and merge drivers are programs too, but without them the files would not be the person's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from herdr.repo.checks import common_dir, hooks_folder
from herdr.repo.git import run_git

#: In the git folder of herdr's own repository.
FILE = "snapshot.json"
#: There too: what the person's own file of attributes says, which yields to the repo's `.gitattributes`.
ATTRIBUTES = "attributes"

#: Keys that are taken over, as git lists them: section and name in lower case, the rest as it is written.
TAKEN = re.compile(
    r"""
    user\.(name|email)
    | core\.(autocrlf|eol|filemode|symlinks|ignorecase|precomposeunicode|bigfilethreshold|compression
        |sharedrepository|quotepath|commentchar|whitespace|longpaths|protecthfs|protectntfs|sparsecheckout|sparsecheckoutcone)
    | i18n\.(commitencoding|logoutputencoding)
    | filter\..*\.(clean|smudge|process|required)
    | merge\.(renames|directoryrenames|renamelimit|conflictstyle|.*\.(name|driver|recursive))
    | diff\.(renames|renamelimit|algorithm)
    | lfs\.(?!storage$).* | submodule\..*\.(url|active)
    | extensions\.(objectformat|partialclone)
    | remote\..*\.(promisor|partialclonefilter)
    """,
    re.VERBOSE,
)
#: The keys that say where remotes are; what programs they need is not taken.
REMOTES = re.compile(r"remote\..*\.(url|pushurl|fetch|tagopt)")
#: What is said of a value that may be a secret or a command: only that it differs.
SHOWN_KEYS = re.compile(r"(core|user|i18n|merge|diff)\.[^.]*")


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A person's configuration.

    Attributes:
        config: keys and values in git's order; a key may come more than once.
        attributes: what `.git/info/attributes` says.
        attributes_file: what `core.attributesFile` says.
        exclude: what `core.excludesFile` and `.git/info/exclude` say.
        sparse: which files a sparse checkout has.
        shallow: the commits that a shallow clone ends at.
        replaced: refs of replaced objects, with what they name: never obeyed, and told when they change.
        grafts: whether there is a grafts file: never obeyed.
        hooks: the folder of the person's hooks, which run for agents only where that was asked for.
        promisor: for a partial clone, the URL of each remote that has the missing objects.
        remotes: where the person's remotes are, and what is fetched from them.
    """

    config: tuple[tuple[str, str], ...]
    attributes: bytes = b""
    attributes_file: bytes = b""
    exclude: bytes = b""
    sparse: bytes = b""
    shallow: bytes = b""
    replaced: tuple[str, ...] = ()
    grafts: bool = False
    hooks: str = os.devnull
    promisor: tuple[tuple[str, str], ...] = ()
    remotes: tuple[tuple[str, str], ...] = ()

    def config_file(self, folder: Path, hooks: Path, *, remotes: bool = False) -> str:
        """The configuration as a file of git's.

        Args:
            folder: the git folder that it is for.
            hooks: the folder whose hooks run.
            remotes: whether the person's remotes are in it.
        """
        version = 1 if any(key.startswith("extensions.") for key, _ in self.config) else 0
        partial = {key.removesuffix(".url"): None for key, _ in self.promisor}
        # What is missing in a partial clone is fetched; nothing is ever pushed there without being asked for.
        closed = [(f"{remote}.pushurl", "/dev/null") for remote in partial]
        lines = [
            *_entry("core.repositoryformatversion", str(version)),
            *_entry("core.bare", "true"),
            *_entry("core.logAllRefUpdates", "true"),
            *_entry("core.hooksPath", str(hooks)),
            *_entry("core.attributesFile", str(folder / ATTRIBUTES)),
            *_entry("core.excludesFile", os.devnull),
            *_entry("core.fsmonitor", "false"),
            *_entry("gc.auto", "0"),
            *_entry("maintenance.auto", "false"),
            *_entry("commit.gpgSign", "false"),
            *_entry("tag.gpgSign", "false"),
        ]
        for key, value in (*self.config, *(self.remotes if remotes else (*self.promisor, *closed))):
            lines += _entry(key, value)
        return "\n".join([*lines, ""])

    def format_lines(self) -> bytes:
        """The part of the configuration that says how objects are stored, for a throw-away git folder."""
        kept = [
            line
            for key, value in self.config
            if key in ("extensions.objectformat", "core.sharedrepository")
            for line in _entry(key, value)
        ]
        return "\n".join([*kept, ""]).encode()

    def changes_since(self, before: Snapshot) -> list[str]:
        """What differs from an earlier snapshot, a sentence each.

        Args:
            before: the earlier one.
        """
        other = (
            ("git's attributes (info/attributes)", self.attributes, before.attributes),
            ("git's attributes (core.attributesFile)", self.attributes_file, before.attributes_file),
            ("git's excludes (info/exclude, core.excludesFile)", self.exclude, before.exclude),
            ("which files a sparse checkout has", self.sparse, before.sparse),
            ("how deep the clone is (shallow)", self.shallow, before.shallow),
            ("replaced objects (git replace), which herdr never obeys", self.replaced, before.replaced),
            ("grafts, which herdr never obeys", self.grafts, before.grafts),
            ("the folder of hooks (core.hooksPath)", self.hooks, before.hooks),
        )
        config, was = self.config + self.remotes, before.config + before.remotes
        return [*_config_changes(was, config), *(words for words, now, then in other if now != then)]


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
        attributes=_content(common / "info/attributes"),
        attributes_file=_content(_configured(listed, root, "core.attributesfile", "attributes")),
        exclude=_joined(_configured(listed, root, "core.excludesfile", "ignore"), common / "info/exclude"),
        sparse=_content(common / "info/sparse-checkout") if _is_sparse(config) else b"",
        shallow=_content(common / "shallow"),
        replaced=tuple(run_git(root, "for-each-ref", "refs/replace").text.splitlines()),
        grafts=(common / "info/grafts").exists(),
        hooks=str(hooks_folder(root)),
        promisor=tuple((key, value) for key, value in listed if key.endswith(".url") and key[:-4] in partial),
        remotes=tuple((key, value) for key, value in listed if REMOTES.fullmatch(key)),
    )


def _is_sparse(config: Sequence[tuple[str, str]]) -> bool:
    return dict(config).get("core.sparsecheckout", "false").lower() in ("", "true", "yes", "on", "1")


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
