"""Which repository is meant: `--repo`, or the URL of the remote `origin`."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import msgspec

from herdr.api import HerdrError

GITHUB = "github.com"
# GitHub answers git over ssh on another name too, for networks that block port 22.
SAME_HOST = {"ssh.github.com": GITHUB, "www.github.com": GITHUB}
NAME = re.compile(r"[A-Za-z0-9_.-]+")
SCP_LIKE = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:@]+):(?P<path>(?!//)\S+)")


class Address(msgspec.Struct, frozen=True):
    """A repository on a GitHub, the public one or a company's own."""

    host: str
    owner: str
    name: str

    @property
    def slug(self) -> str:
        """The form that people write, `owner/name`."""
        return f"{self.owner}/{self.name}"

    @property
    def api(self) -> str:
        """The root of the host's REST API."""
        if self.host == GITHUB:
            return "https://api.github.com"
        if self.host.endswith(".ghe.com"):
            return f"https://api.{self.host}"
        return f"https://{self.host}/api/v3"


def parse_address(text: str, *, host: str = GITHUB) -> Address:
    """Read a repository's address.

    Args:
        text: `owner/name`, `host/owner/name`, or a remote's URL (https, ssh://, git://, scp's `git@host:path`).
        host: the host meant by a bare `owner/name`.

    Raises:
        HerdrError: it is none of these.
    """
    stripped = text.strip()
    if "://" in stripped:
        parts = urlsplit(stripped)
        found, path = (parts.hostname or ""), parts.path
    elif match := SCP_LIKE.fullmatch(stripped):
        found, path = match["host"].lower(), match["path"]
    elif stripped.count("/") == 2 and "." in stripped.split("/")[0]:
        found, path = stripped.split("/", 1)
    else:
        found, path = host, stripped
    pieces = path.strip("/").removesuffix(".git").split("/")
    if not found or len(pieces) != 2 or not all(NAME.fullmatch(piece) for piece in pieces):
        raise HerdrError(
            f"`{text}` does not name a GitHub repository",
            fix="give --repo owner/name, or point the remote: git remote set-url origin https://github.com/owner/name",
        )
    if "." not in found:
        raise HerdrError(
            f"`{text}` leads to `{found}`, which is no host of a GitHub but perhaps a name in your ssh settings",
            fix=f"give --repo {'/'.join(pieces)}, or --repo HOST/{'/'.join(pieces)} for a GitHub of your company",
        )
    return Address(SAME_HOST.get(found.lower(), found.lower()), *pieces)
