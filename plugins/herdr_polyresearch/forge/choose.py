"""Which forge a command talks to: what it was told, else what the remote `origin` leads to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from herdr.api import HerdrError
from herdr_polyresearch.forge.address import parse_address
from herdr_polyresearch.forge.base import Forge
from herdr_polyresearch.forge.local_forges import login_from, name_of, open_local
from herdr_polyresearch.forge.waiting import Clock

KINDS = ("github", "local")


def open_forge(
    *,
    home: Path,
    environ: Mapping[str, str],
    forge: str | None = None,
    repo: str | None = None,
    origin: str | None = None,
    login: str | None = None,
    clock: Clock | None = None,
) -> Forge:
    """Open the forge that is meant.

    Args:
        home: the home of herdr.
        environ: `POLYRESEARCH_FORGE` stands for `--forge`, and `GH_REPO` for GitHub's `--repo`, as for gh; tokens
            and logins are found here.
        forge: `github` or `local`; found out from the remote when None.
        repo: `owner/name`, or the name of a local forge; the one of the remote when None.
        origin: the URL of the remote `origin`, when there is one.
        login: who to be: the user of a local forge, or whom the token must belong to.
        clock: how to wait for GitHub.

    Raises:
        HerdrError: nothing says which repository is meant, it does not exist, or there is no token.
    """
    local = name_of(origin, home) if origin else None
    kind = forge or environ.get("POLYRESEARCH_FORGE") or ("local" if local and not repo else "github")
    if kind not in KINDS:
        raise HerdrError(f"there is no forge `{kind}`", fix=f"give --forge {' or '.join(KINDS)}")
    if kind == "local":
        name = repo or local
        if name is None:
            raise HerdrError(
                "nothing says which local forge is meant",
                fix="give --repo NAME, or make one: polyresearch forge init",
            )
        return open_local(name, home=home, login=login or login_from(environ))
    meant = repo or environ.get("GH_REPO") or origin
    if not meant:
        raise HerdrError(
            "this repository has no remote `origin`, so it is not known where its issues are",
            fix="give --repo owner/name, or for work without GitHub: polyresearch forge init",
        )
    return open_github(meant, home=home, login=login, environ=environ, clock=clock)


def open_github(
    repo: str, *, home: Path, environ: Mapping[str, str], login: str | None = None, clock: Clock | None = None
) -> Forge:
    """Open a repository on GitHub with the token of the environment.

    Args:
        repo: `owner/name`, `host/owner/name`, or a remote's URL.
        home: the home of herdr.
        environ: where the token is; `GH_HOST` is the host of a bare `owner/name`. `POLYRESEARCH_API`,
            `POLYRESEARCH_API_LACKS` (a comma list of capabilities) and `POLYRESEARCH_WRITE_SPACING` (seconds) are
            for servers that only speak like GitHub.
        login: whom the token must belong to; anybody when None.
        clock: how to wait.

    Raises:
        HerdrError: it names no repository, there is no token, or the spacing is not a number.
    """
    # PyGithub takes longer to import than everything else together.
    from herdr_polyresearch.forge.github import GitHubForge
    from herdr_polyresearch.forge.token import find_token
    from herdr_polyresearch.forge.writes import SPACING

    address = parse_address(repo, host=environ.get("GH_HOST") or "github.com")
    spacing = environ.get("POLYRESEARCH_WRITE_SPACING") or str(SPACING)
    if not spacing.replace(".", "", 1).isdigit():
        raise HerdrError(
            f"POLYRESEARCH_WRITE_SPACING is `{spacing}`, which is no number of seconds",
            fix="unset it, or set it to 1",
        )
    return GitHubForge(
        address,
        find_token(address.host, environ),
        home=home,
        login=login,
        api=environ.get("POLYRESEARCH_API") or None,
        clock=clock,
        spacing=float(spacing),
        lacks=frozenset(filter(None, environ.get("POLYRESEARCH_API_LACKS", "").split(","))),
    )
