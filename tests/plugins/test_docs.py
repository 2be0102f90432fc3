"""The contract as the docs tell it: every hook is in it, and its two plugins work as they stand there."""

from __future__ import annotations

import importlib
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio
import pytest

from herdr import hookspecs
from herdr.api import DoctorCheck, Harness, LaunchContext, Usage
from herdr.daemon.change_notifier import ChangeNotifier
from herdr.daemon.io.outbox import Outbox
from herdr.harness.registry import Harnesses
from herdr.plugins import PluginHost
from herdr.store.connection import Store, open_store, transaction

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "plugins.md").read_text("utf-8")
HOOKS = sorted(name for name in vars(hookspecs) if name.startswith("herdr_"))
BLOCKS = dict(re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", DOCS, re.DOTALL))
SITE_PLUGINS = ("acme", "notifier")


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_line_in_the_docs_with_its_arguments(hook: str) -> None:
    arguments = ", ".join(getattr(hookspecs, hook).__code__.co_varnames)
    lines = [line for line in DOCS.splitlines() if line.startswith(f"| `{hook}({arguments})` |")]
    assert len(lines) == 1


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_test_that_implements_it(hook: str) -> None:
    others = (path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__))
    assert any(f"def {hook}(" in path.read_text("utf-8") for path in others)


def test_the_docs_name_no_hook_that_is_not_there() -> None:
    assert set(re.findall(r"herdr_[a-z_]+(?=\()", DOCS)) <= set(HOOKS)


@pytest.mark.parametrize("name", ["herdr_acme.py", "herdr_notifier.py"])
def test_the_plugins_of_the_docs_are_short_and_import_only_the_api(name: str) -> None:
    assert len(BLOCKS[name].splitlines()) < 40
    assert set(re.findall(r"(?:from|import) (herdr[\w.]*)", BLOCKS[name])) == {"herdr.api"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both plugins, built from docs/plugins.md by pip and hatchling, and installed into a folder of their own."""
    source, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for plugin in SITE_PLUGINS:
        project = source / f"herdr-{plugin}"
        project.mkdir()
        (project / "pyproject.toml").write_text(BLOCKS[f"herdr-{plugin}/pyproject.toml"])
        (project / f"herdr_{plugin}.py").write_text(BLOCKS[f"herdr_{plugin}.py"])
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "-q"]
    projects = [source / f"herdr-{plugin}" for plugin in SITE_PLUGINS]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *offline, "--target", site, *projects],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return site


@pytest.fixture
def host(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginHost]:
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    yield PluginHost()
    for plugin in SITE_PLUGINS:
        sys.modules.pop(f"herdr_{plugin}", None)


def test_both_are_listed_beside_ours(host: PluginHost) -> None:
    rows = {row.name: row for row in host.plugins_table()}
    assert [(rows[p].distribution, rows[p].version, rows[p].state) for p in SITE_PLUGINS] == [
        ("herdr-acme", "0.1.0", "ok"),
        ("herdr-notifier", "0.1.0", "ok"),
    ]
    assert rows["notifier"].hooks == ("herdr_doctor_checks", "herdr_escalate", "herdr_submit")


def program(path: Path, code: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{code}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


AGENT = """
import json, os, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("acme 3.2"))
assert os.path.exists(os.environ["ACME_HOME"] + "/trusted")
log = open(sys.argv[sys.argv.index("--log") + 1], "w")
print(json.dumps({"user": sys.argv[-1]}), json.dumps({"in": 10, "out": 2}), sep="\\n", file=log)
"""


def test_the_harness_is_registered_launched_and_read(host: PluginHost, tmp_path: Path) -> None:
    harnesses = Harnesses()
    answers = host.setup("herdr_register_harnesses", harnesses.registrar)
    assert {answer.error for answer in answers} == {None}
    assert harnesses.origin["acme"] == "acme"
    harness = harnesses.get("acme")
    assert isinstance(harness, Harness)
    assert harness.check({"PATH": str(tmp_path)}).fix == "pip install acme-agent"
    acme = program(tmp_path / "bin" / "acme", AGENT)
    environ = {"PATH": str(acme.parent)}
    assert harness.check(environ).version == "acme 3.2"
    context = LaunchContext(
        agent="worker#1", role="worker", cwd=tmp_path, repo_root=tmp_path, state_dir=tmp_path,
        profile_dir=tmp_path, brief=tmp_path / "brief.md", prompt="read brief.md", model="large", session_id="s",
        environ=environ,
    )  # fmt: skip
    launch = harness.launch(context)
    assert launch.argv[:3] == ("acme", "--model", "large")
    for seed in launch.seeds:
        seed.path.write_text(seed.content)
    assert harness.received(context, "read brief.md") is False
    subprocess.run([acme, *launch.argv[1:]], env={**environ, **launch.env}, check=True)
    assert harness.usage(context) == Usage(input=10, output=2)
    assert harness.received(context, "read brief.md") is True


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "home" / "herdr.db", mode="daemon", actor="daemon")) as store:
        with transaction(store):
            store.execute("INSERT INTO projects (name, path, config, actor) VALUES ('p', '/p', '{}', 'human')")
        yield store


NOTICE = """
import pathlib, sys
folder = pathlib.Path(__file__).parent
if (folder / "down").exists():
    sys.exit(1)
with (folder / "notices").open("a") as file:
    print(sys.argv[1], file=file)
"""


def test_the_notifier_gets_each_fact_once_and_in_order(
    host: PluginHost, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender = program(tmp_path / "bin" / "send", NOTICE)
    monkeypatch.setenv("NOTIFY_COMMAND", str(sender))
    now = [0.0]
    outbox = Outbox(store, host, ChangeNotifier(), lambda: now[0])
    assert "notifier" in outbox.plugins()

    async def feed() -> None:
        while await outbox.step("notifier") == 0:
            pass

    anyio.run(feed)
    for text in ("one", "two", "three"):
        store.execute(
            "INSERT INTO comments (project_id, target_kind, target_id, kind, body, priority, actor)"
            " VALUES (1, 'project', 1, 'escalation', ?, 0, 'daemon')",
            (text,),
        )
    (sender.parent / "down").write_text("")
    anyio.run(feed)
    assert not (sender.parent / "notices").exists()
    (sender.parent / "down").unlink()
    now[0] += 1
    anyio.run(feed)
    notices = (sender.parent / "notices").read_text().splitlines()
    assert [re.sub(r"\d+\)$", "", line) for line in notices] == [
        f"herdr: look at project#1: {text} (event " for text in ("one", "two", "three")
    ]


def test_the_notifiers_check_reaches_the_doctor(host: PluginHost, monkeypatch: pytest.MonkeyPatch) -> None:
    checks: dict[str, DoctorCheck] = {}
    host.setup("herdr_doctor_checks", lambda plugin: partial(checks.__setitem__, plugin))
    assert checks["notifier"].run(None)[0].message == "notices go to notify-send"
    monkeypatch.setenv("NOTIFY_COMMAND", "")
    assert checks["notifier"].run(None)[0].fix == "export NOTIFY_COMMAND=notify-send"
