"""What a good file gives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from herdr.config import LATER_KEYS, Config, later_keys, read_config, read_data
from herdr.config.structs import Roles, Tmux
from herdr.contract.harness import ScreenRules, SendRules
from herdr.errors import UsageError

HERE = Path(__file__).parent
SMALL = """
name = "p"
evaluate = ["./bench"]
[[metrics]]
name = "score"
direction = "higher"
role = "primary"
"""
OURS = {"protect", "max_evaluations", "attempts", "evaluate_env", "plugins", "tmux", "hooks", "remotes", "setup"}
OUR_HARNESS_KEYS = {*ScreenRules.__struct_fields__, *SendRules.__struct_fields__, "env", "ready_timeout"}


def project(folder: Path, text: str) -> Path:
    (folder / "piloop.toml").write_text(text)
    return folder


def full(folder: Path) -> Path:
    return project(folder, (HERE / "piloop-0.1-full.toml").read_text())


def fields(value: Any) -> set[str]:
    return set(value.__struct_fields__)


def test_a_file_with_every_key_of_piloop_0_1_loads(tmp_path: Path) -> None:
    config = read_config(full(tmp_path), {})
    assert config.evaluate == ("uv", "run", "python", "evaluate.py", "--folds", "5")
    assert config.evaluate_timeout == 900
    assert config.harnesses == ("pi", "claude", "codex")
    assert config.metrics[2].margin == 0
    assert config.roles.research.scout is not None
    assert config.roles.research.scout.seeds == 5
    assert config.harness["mine"].startup_dialogs[0] == ("trust this folder", ("down", "enter"))
    assert config.mcp["browser"].env == ("BROWSER_PROFILE",)
    assert config.spend is not None
    assert config.spend.notices == (50, 80.5)


def test_the_full_file_indeed_sets_every_key(tmp_path: Path) -> None:
    config, data = read_config(full(tmp_path), {}), read_data(tmp_path)
    assert fields(config) - OURS == set(data)
    assert fields(config.metrics[0]) == set(data["metrics"][0])
    assert fields(config.tracks["quality"]) == set(data["tracks"]["quality"])
    for role in Roles.__struct_fields__:
        assert fields(getattr(config.roles, role)) - {"triggers"} == set(data["roles"][role])
    assert fields(config.stop) - {"target"} == set(data["stop"])
    assert fields(config.spend) == set(data["spend"])
    assert fields(config.harness["mine"]) - OUR_HARNESS_KEYS == set(data["harness"]["mine"])
    assert fields(config.mcp["papers"]) == {*data["mcp"]["papers"], *data["mcp"]["browser"]}


def test_a_target_is_accepted_where_there_are_no_tracks(tmp_path: Path) -> None:
    assert read_config(project(tmp_path, f"{SMALL}[stop]\ntarget = -1\n"), {}).stop.target == -1


DEFAULTS = [
    ("evaluate_timeout", 600),
    ("evaluate_env", ()),
    ("max_evaluations", 1),
    ("protect", None),
    ("attempts", 2),
    ("runtime", "subprocess"),
    ("harnesses", None),
    ("model", {}),
    ("max_concurrent", {}),
    ("link", ()),
    ("hooks", False),
    ("remotes", False),
    ("confidence", 0.95),
    ("tracks", {}),
    ("spend", None),
    ("stop.target", None),
    ("stop.plateau", None),
    ("roles.worker.timeout", 1800),
    ("roles.watchdog.timeout", 600),
    ("roles.research.timeout", 900),
    ("roles.worker.max_concurrent", 4),
    ("roles.watchdog.max_concurrent", 1),
    ("roles.research.max_concurrent", 1),
    ("roles.worker.explore_every", 4),
    ("roles.watchdog.interval", 1800),
    ("roles.research.max_ideas", 1),
    ("roles.research.buffer", 2),
    ("roles.research.context", ()),
    ("roles.research.scout", None),
    ("plugins", {}),
    ("tmux", Tmux(socket=None, width=200, height=50, history=50_000)),
    ("primary.margin", None),
]


@pytest.mark.parametrize(("path", "expected"), DEFAULTS)
def test_defaults(tmp_path: Path, path: str, expected: object) -> None:
    value: Any = read_config(project(tmp_path, SMALL), {})
    for key in path.split("."):
        value = getattr(value, key)
    assert value == expected


def test_keys_beyond_piloop(tmp_path: Path) -> None:
    text = f"""
protect = ["bench", "data/*.csv"]
max_evaluations = 2
attempts = 3
evaluate_env = ["TOKEN"]
{SMALL}
[tmux]
socket = "mine"
width = 80
[plugins]
block = ["codex"]
[plugins.notify]
urls = ["a"]
since = 2024-05-01
[harness.mine]
ready = "^>"
received = "said {{text}}$"
dialogs = {{ trust = "trust .*folder" }}
newline = "keep"
settle = 0
env = {{ A = "1" }}
"""
    config = read_config(project(tmp_path, text), {})
    mine = config.harness["mine"]
    assert (mine.ready, mine.received, mine.dialogs["trust"]) == ("^>", "said {text}$", "trust .*folder")
    assert (mine.newline, mine.settle, mine.env, mine.ready_timeout) == ("keep", 0, {"A": "1"}, None)
    assert config.plugins["block"] == ["codex"]
    assert config.plugins["notify"] == {"urls": ["a"], "since": "2024-05-01"}
    assert (config.tmux.socket, config.tmux.width, config.tmux.height) == ("mine", 80, 50)
    assert (config.protect, config.attempts, config.evaluate_env) == (("bench", "data/*.csv"), 3, ("TOKEN",))


def test_what_the_daemon_stores_comes_back_equal(tmp_path: Path) -> None:
    config = read_config(full(tmp_path), {})
    assert Config.from_json(config.to_json()) == config


def test_what_a_newer_version_stored_still_loads(tmp_path: Path) -> None:
    config = read_config(full(tmp_path), {})
    newer = {**msgspec.json.decode(config.to_json()), "rotation": "adaptive"}
    assert Config.from_json(msgspec.json.encode(newer)) == config


def test_a_role_takes_the_projects_harnesses_and_models_where_it_has_none(tmp_path: Path) -> None:
    config = read_config(full(tmp_path), {})
    worker = config.role("worker")
    assert worker.harnesses == ("claude", "pi")
    assert worker.model == {"pi": "openrouter/some-model", "claude": "sonnet", "codex": "gpt-5"}
    assert (worker.timeout, worker.max_concurrent) == (3600, 6)
    assert config.role("watchdog").model["claude"] == "opus"
    plain = read_config(project(tmp_path, f'harnesses = ["aider"]\n{SMALL}'), {})
    assert plain.role("research").harnesses == ("aider",)


def test_a_role_nobody_knows_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'boss'") as caught:
        read_config(project(tmp_path, SMALL), {}).role("boss")
    assert caught.value.fix == "use one of worker, watchdog, research"


def test_primary_and_guardrails(tmp_path: Path) -> None:
    config = read_config(full(tmp_path), {})
    assert config.primary.name == "accuracy"
    assert [metric.name for metric in config.guardrails] == ["memory_mb"]


ALWAYS = ("/piloop.toml", "/PREPARE.md", "/.polyresearch/")
PROTECTED = [
    (["python", "evaluate.py", "--data=data/a b.csv"], ("/data/a\\ b.csv", "/evaluate.py")),
    (["./tools/bench"], ("/tools/bench",)),
    (["python", "-m", "tools.score", "src"], ("/tools/score.py",)),
    (["python", "-m", "pack"], ("/pack/__main__.py",)),
    (["sh", "-c", "cd . && python evaluate.py>out; python -m tools.score"], ("/evaluate.py", "/tools/score.py")),
    (["python", "{root}/evaluate.py"], ("/evaluate.py",)),
    (["linked/score.py", "../outside.py", "odd[1]*.py", "x" * 5000], ("/odd\\[1\\]\\*.py",)),
]


@pytest.mark.parametrize(("evaluate", "expected"), PROTECTED)
def test_files_in_the_evaluate_command_are_protected(
    tmp_path: Path, evaluate: list[str], expected: tuple[str, ...]
) -> None:
    root = tmp_path / "repo"
    files = ["evaluate.py", "data/a b.csv", "tools/bench", "tools/score.py", "pack/__main__.py", "odd[1]*.py"]
    for name in [*files, "linked/score.py", "src/x.py", "../outside.py"]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    argv = [word.replace("{root}", str(root)) for word in evaluate]
    metrics = [{"name": "s", "direction": "lower"}]
    data = {"name": "p", "evaluate": argv, "link": ["linked/"], "metrics": metrics}
    assert msgspec.convert(data, Config).protected_patterns(root) == (*expected, *ALWAYS)


def test_protect_replaces_what_would_be_protected(tmp_path: Path) -> None:
    config = read_config(project(tmp_path, f'protect = ["bench/"]\n{SMALL}'), {})
    assert config.protected_patterns(tmp_path) == ("bench/",)


def test_keys_without_effect_yet_are_named_once(tmp_path: Path) -> None:
    read_config(full(tmp_path), {})
    assert later_keys(read_data(tmp_path)) == list(LATER_KEYS)
    assert later_keys(read_data(project(tmp_path, SMALL))) == []
    assert later_keys({"roles": {"worker": {"timeout": 3}}, "harness": {"x": {"env": {}}}, "metrics": "no"}) == []


OVERRIDES: list[tuple[Mapping[str, str], str, object]] = [
    ({"PILOOP_PROJECT_EVALUATE_TIMEOUT": "5.5"}, "evaluate_timeout", 5.5),
    ({"piloop_project_attempts": "7"}, "attempts", 7),
    ({"PILOOP_PROJECT_NAME": "2024"}, "name", "2024"),
    ({"PILOOP_PROJECT_NAME": '"quoted"'}, "name", "quoted"),
    ({"PILOOP_PROJECT_RUNTIME": "herdr"}, "runtime", "herdr"),
    ({"PILOOP_PROJECT_HARNESSES": '["aider"]'}, "harnesses", ("aider",)),
    ({"PILOOP_PROJECT_ROLES__WORKER__TIMEOUT": "9"}, "roles.worker.timeout", 9),
    ({"PILOOP_PROJECT_ROLES__WATCHDOG": "{ timeout = 8 }"}, "roles.watchdog.timeout", 8),
    ({"PILOOP_PROJECT_MODEL__CLAUDE": "4"}, "model", {"claude": "4", "MyAgent": "m"}),
    ({"PILOOP_PROJECT_MODEL__MYAGENT": "x"}, "model", {"MyAgent": "x"}),
    ({"PILOOP_PROJECT_TMUX__SOCKET": "1"}, "tmux.socket", "1"),
    ({"PILOOP_PROJECT_PLUGINS__NOTIFY__URLS": '["u"]'}, "plugins", {"notify": {"urls": ["u"]}}),
    ({"PILOOP_PROJECT_TMUX": "{width = 90}", "PILOOP_PROJECT_TMUX__WIDTH": "99"}, "tmux.width", 99),
    ({"PILOOP_PROJECTS": "no", "PILOOP_HOME": "no"}, "name", "p"),
]


@pytest.mark.parametrize(("environ", "path", "expected"), OVERRIDES)
def test_the_environment_overrides_the_file(
    tmp_path: Path, environ: Mapping[str, str], path: str, expected: object
) -> None:
    value: Any = read_config(project(tmp_path, f'model = {{ MyAgent = "m" }}\n{SMALL}'), environ)
    for key in path.split("."):
        value = getattr(value, key)
    assert value == expected


def test_reading_imports_nothing_heavy() -> None:
    # What the interpreter loads for an editable install is not ours.
    code = "import sys; old = set(sys.modules); import herdr.config, herdr.home; print(*set(sys.modules) - old)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"asyncio", "difflib", "importlib.resources", "jinja2", "libtmux", "pluggy"}
    assert heavy.isdisjoint(done.stdout.split())


def test_a_linked_path_with_what_is_said_of_it(tmp_path: Path) -> None:
    top = 'link = ["data", { path = "cache", write = true }, { path = "models" }]\n'
    config = read_config(project(tmp_path, top + SMALL), {})
    assert config.linked == ("data", "cache", "models")
    assert config.shared == ("cache",)
    assert Config.from_json(config.to_json()) == config


def test_links_as_an_older_herdr_stored_them() -> None:
    metrics = b'"metrics":[{"name":"m","direction":"lower"}]'
    stored = b'{"name":"p","evaluate":["e"],' + metrics + b',"link":["data","models/base.bin"]}'
    config = Config.from_json(stored)
    assert (config.linked, config.shared, config.setup) == (("data", "models/base.bin"), (), None)
