"""Which repository and which forge are meant, and with which token."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from herdr_polyresearch.forge.address import parse_address
from herdr_polyresearch.forge.choose import open_forge
from herdr_polyresearch.forge.local_forges import create_local
from herdr_polyresearch.forge.token import find_token

from herdr.api import HerdrError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lead/lab", ("github.com", "lead", "lab")),
        ("ghe.corp.example/lead/lab", ("ghe.corp.example", "lead", "lab")),
        ("https://github.com/lead/lab", ("github.com", "lead", "lab")),
        ("https://github.com/lead/lab.git", ("github.com", "lead", "lab")),
        ("https://github.com/lead/lab/", ("github.com", "lead", "lab")),
        ("http://www.github.com/lead/lab", ("github.com", "lead", "lab")),
        ("https://user:secret@GitHub.com/lead/lab.git\n", ("github.com", "lead", "lab")),
        ("git@github.com:lead/lab.git", ("github.com", "lead", "lab")),
        ("git@github.com:/lead/lab.git", ("github.com", "lead", "lab")),
        ("github.com:lead/lab", ("github.com", "lead", "lab")),
        ("ssh://git@github.com/lead/lab.git", ("github.com", "lead", "lab")),
        ("ssh://git@ssh.github.com:443/lead/lab.git", ("github.com", "lead", "lab")),
        ("ssh://git@ghe.corp.example:2222/lead/lab.v2.git", ("ghe.corp.example", "lead", "lab.v2")),
        ("git@ghe.corp.example:lead/lab_3", ("ghe.corp.example", "lead", "lab_3")),
        ("git://github.com/lead/lab.git", ("github.com", "lead", "lab")),
    ],
)
def test_an_address_is_read(text: str, expected: tuple[str, str, str]) -> None:
    address = parse_address(text)
    assert (address.host, address.owner, address.name) == expected
    assert address.slug == "/".join(expected[1:])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lab",
        "a/b/c/d",
        "https://github.com/lead",
        "/srv/git/lab.git",
        "file:///srv/git/lab.git",
        "a b/c",
        "x/y z",
        "git@my-alias:lead/lab.git",
    ],
)
def test_what_names_no_repository_is_refused(text: str) -> None:
    with pytest.raises(HerdrError) as caught:
        parse_address(text)
    assert "--repo" in str(caught.value.fix)


@pytest.mark.parametrize(
    ("host", "api"),
    [
        ("github.com", "https://api.github.com"),
        ("ghe.corp.example", "https://ghe.corp.example/api/v3"),
        ("octo.ghe.com", "https://api.octo.ghe.com"),
    ],
)
def test_each_host_has_its_api(host: str, api: str) -> None:
    assert parse_address(f"{host}/lead/lab").api == api


def gh(folder: Path, script: str) -> dict[str, str]:
    """An environment whose `gh` is this script."""
    folder.mkdir(exist_ok=True)
    program = folder / "gh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_the_token_of_the_environment_comes_first(tmp_path: Path) -> None:
    environ = gh(tmp_path / "bin", "echo from-gh")
    assert find_token("github.com", {**environ, "GITHUB_TOKEN": " from-env\n"}) == "from-env"
    assert find_token("github.com", {**environ, "GITHUB_TOKEN": "  "}) == "from-gh"


def test_gh_is_asked_for_the_host(tmp_path: Path) -> None:
    environ = gh(tmp_path / "bin", 'test "$*" = "auth token --hostname ghe.example" && echo right')
    assert find_token("ghe.example", environ) == "right"


@pytest.mark.parametrize("script", ["exit 1", "echo 'no oauth token' >&2; exit 1", "true"])
def test_no_token_says_how_to_get_one(tmp_path: Path, script: str) -> None:
    with pytest.raises(HerdrError) as caught:
        find_token("github.com", gh(tmp_path / "bin", script))
    assert "gh auth login --hostname github.com" in str(caught.value.fix)
    with pytest.raises(HerdrError, match="there is no `gh`"):
        find_token("github.com", {"PATH": str(tmp_path / "empty")})


def test_the_forge_is_the_one_that_origin_leads_to(tmp_path: Path) -> None:
    with closing(create_local("lab", home=tmp_path, owner="lead")) as made:
        url = made.clone_url()
    environ = {"GITHUB_TOKEN": "x", "POLYRESEARCH_LOGIN": "alice"}

    def found(**options: Any) -> tuple[str, str]:
        with closing(open_forge(**{"home": tmp_path, "environ": environ, **options})) as forge:
            return forge.name, forge.whoami() if forge.name == "local" else forge.clone_url()

    assert found(origin=url) == ("local", "alice")
    assert found(forge="local", repo="lab", login="bob") == ("local", "bob")
    assert found(environ={**environ, "POLYRESEARCH_FORGE": "local"}, repo="lab") == ("local", "alice")
    assert found(origin="git@ghe.example:lead/lab.git") == ("github", "https://ghe.example/lead/lab.git")
    assert found(origin=url, repo="lead/lab") == ("github", "https://github.com/lead/lab.git")
    named = {**environ, "GH_REPO": "lead/other"}
    assert found(environ=named, origin="/srv/git/x") == ("github", "https://github.com/lead/other.git")
    assert found(environ=named, origin=url) == ("local", "alice")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no remote `origin`"),
        ({"forge": "local"}, "which local forge"),
        ({"forge": "gitlab", "repo": "a/b"}, "no forge `gitlab`"),
        ({"forge": "local", "repo": "nowhere"}, "no local forge `nowhere`"),
        ({"origin": "/srv/git/x"}, "does not name a GitHub repository"),
        ({"repo": "a/b", "environ": {"POLYRESEARCH_WRITE_SPACING": "often", "GITHUB_TOKEN": "x"}}, "no number"),
    ],
)
def test_an_unclear_forge_is_one_clear_message(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(HerdrError, match=message) as caught:
        open_forge(**{"home": tmp_path, "environ": {"PATH": ""}, **options})
    assert caught.value.fix


def test_the_local_forge_never_imports_pygithub(tmp_path: Path) -> None:
    create_local("lab", home=tmp_path, owner="lead").close()
    script = (
        "import sys; from pathlib import Path; from herdr_polyresearch.forge.choose import open_forge\n"
        f"home = Path({str(tmp_path)!r})\n"
        "open_forge(home=home, environ={}, forge='local', repo='lab', login='a').snapshot()\n"
        "sys.exit('github' in sys.modules or 'requests' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
