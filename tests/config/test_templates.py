"""What `herdr init` writes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from herdr.config import LATER_KEYS, Config, HarnessKeys, Metric, Tmux, later_keys, read_config, read_data
from herdr.config.structs import ResearchRole, Role, SetUp, Spend, Stop, WatchdogRole, WorkerRole
from herdr.errors import HerdrError, UsageError
from herdr.harness.configured import configured
from herdr.harness.screen import read_screen
from herdr.templates import is_stub, write_templates

#: Shown once, for the worker.
ROLE = {*Role.__struct_fields__} - {"timeout"}
NAMES = ["brief.md", "evaluate.py", "piloop.toml"]


def test_a_new_repo_gets_all_files_and_they_load(make_repo: Callable[..., Path]) -> None:
    root = make_repo()
    assert write_templates(root, "my-project") == [root / name for name in NAMES]
    config = read_config(root, {})
    assert (config.name, config.runtime) == ("my-project", "herdr")
    assert config.protected_patterns(root)[0] == "/evaluate.py"
    assert later_keys(read_data(root)) == []
    assert "{{" not in (root / "piloop.toml").read_text()


def test_a_second_time_writes_nothing(make_repo: Callable[..., Path]) -> None:
    root = make_repo()
    write_templates(root, "p")
    before = {name: (root / name).stat().st_mtime_ns for name in NAMES}
    assert write_templates(root, "other") == []
    assert {name: (root / name).stat().st_mtime_ns for name in NAMES} == before


def test_a_repo_with_a_configuration_gets_nothing(make_repo: Callable[..., Path]) -> None:
    root = make_repo({"piloop.toml": "mine"})
    assert write_templates(root, "p") == []
    assert not (root / "evaluate.py").exists()


def test_what_a_person_has_is_never_overwritten(make_repo: Callable[..., Path]) -> None:
    root = make_repo({"evaluate.py": "mine"})
    (root / "brief.md").symlink_to("gone.md")
    assert write_templates(root, "p") == [root / "piloop.toml"]
    assert (root / "evaluate.py").read_text() == "mine"
    assert not (root / "gone.md").exists()


def test_a_name_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'a b' cannot be part of a git ref"):
        write_templates(tmp_path, "a b")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(HerdrError, match=r"cannot write .*brief\.md: No such file") as caught:
        write_templates(tmp_path / "gone", "p")
    assert caught.value.fix


def test_the_stub_fails_until_its_line_is_replaced(make_repo: Callable[..., Path]) -> None:
    root = make_repo()
    write_templates(root, "p")
    stub = root / "evaluate.py"
    done = subprocess.run([sys.executable, stub], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "still the stub" in done.stderr
    assert is_stub(stub.read_text())

    stub.write_text(re.sub(r"raise SystemExit.*", "return 0.5", stub.read_text()))
    done = subprocess.run([sys.executable, stub], capture_output=True, text=True, check=True)
    assert done.stdout == "METRIC score=0.5\n"
    assert not is_stub(stub.read_text())


def test_every_option_is_shown_and_right(make_repo: Callable[..., Path]) -> None:
    root = make_repo()
    write_templates(root, "p")
    text = (root / "piloop.toml").read_text()
    (root / "piloop.toml").write_text(re.sub(r"^#(?=\S)", "", text, flags=re.MULTILINE))
    read_config(root, {})
    data = read_data(root)
    known = later_features()
    assert set(data) == set(Config.__struct_fields__) - known
    assert set(data["tmux"]) == set(Tmux.__struct_fields__)
    assert set(data["harness"]["mine"]) == set(HarnessKeys.__struct_fields__) - known
    assert set(data["roles"]["worker"]) == set(WorkerRole.__struct_fields__) - known
    assert set(data["roles"]["research"]) >= set(ResearchRole.__struct_fields__) - ROLE - known
    assert set(data["roles"]["watchdog"]) >= set(WatchdogRole.__struct_fields__) - ROLE - known
    assert set(data["setup"]) == set(SetUp.__struct_fields__)
    assert set(data["stop"]) == set(Stop.__struct_fields__)
    assert set(data["spend"]) == set(Spend.__struct_fields__)
    assert {key for metric in data["metrics"] for key in metric} == set(Metric.__struct_fields__) - known
    prose = re.sub(r"\n# *", " ", text)
    assert all(re.search(rf"[ .]{key}\b", prose) for key in known)


def test_the_harness_that_is_shown_reads_its_screen(make_repo: Callable[..., Path]) -> None:
    root = make_repo()
    write_templates(root, "p")
    file = root / "piloop.toml"
    file.write_text(re.sub(r"^#(?=\S)", "", file.read_text(), flags=re.MULTILINE))
    rules = configured("mine", read_config(root, {}).harness["mine"], None).screen
    screens = ("> ", "> do it\nworking\n>", "> half a text", "Do you trust this folder?", "starting")
    read = [read_screen(rules, screen) for screen in screens]
    assert [(one.state, one.composer, one.cause) for one in read] == [
        ("idle", "", None),
        ("busy", "", None),
        ("idle", "half a text", "draft"),
        ("blocked", None, "trust"),
        ("unknown", None, None),
    ]


def later_features() -> set[str]:
    return {path.split(".")[-1] for path in LATER_KEYS}


def test_what_is_shown_as_a_default_is_the_default(make_repo: Callable[..., Path]) -> None:
    root = make_repo()
    write_templates(root, "p")
    text = (root / "piloop.toml").read_text()
    lines = [line for line in text.splitlines() if not re.match(r"#\S.*# example", line)]
    shown = (
        "\n".join(lines)
        .split("# A harness of one's own")[0]
        .replace("#[tmux]", "[tmux]")
        .replace("#[plugins]", "")
    )
    shown = re.sub(r"^#(name|direction|role|margin|floor|block|urls) .*$", "", shown, flags=re.MULTILINE)
    written = read_config(root, {})
    (root / "piloop.toml").write_text(re.sub(r"^#(?=\S)", "", shown, flags=re.MULTILINE))
    assert msgspec.structs.asdict(read_config(root, {})) == msgspec.structs.asdict(written)
