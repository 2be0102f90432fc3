"""What a wrong file gives: one line for each mistake, with place, value, problem and fix."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from herdr.config import ConfigError, read_config

HERE = Path(__file__).parent
HEAD = 'name = "p"\nevaluate = ["./bench"]\n'
METRIC = '[[metrics]]\nname = "score"\ndirection = "higher"\nrole = "primary"\n'


def lines(folder: Path, text: str | bytes, environ: Mapping[str, str] | None = None) -> list[str]:
    (folder / "piloop.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as caught:
        read_config(folder, environ or {})
    assert str(caught.value).splitlines() == [str(mistake) for mistake in caught.value.mistakes]
    return str(caught.value).splitlines()


def test_25_mistakes_give_25_lines(tmp_path: Path) -> None:
    found = lines(tmp_path, (HERE / "25-mistakes.toml").read_text())
    assert len(found) == 25
    assert len(set(found)) == 25
    assert all(": " in line and ". Fix: " in line for line in found)


#: Lines at the top level, lines at the end, and the one line that they give.
ROWS = [
    (
        "",
        '[harness.a]\ncomposer = "^> .*$"',
        "harness.a.composer = '^> .*$': does not say what stands in the line.",
    ),
    (
        "",
        '[harness.a]\ncomposer = "^(>|%) (.*)$"',
        "harness.a.composer = '^(>|%) (.*)$': has several groups, none",
    ),
    ("", '[harness.a]\ncomposer = "^> ("', "harness.a.composer = '^> (': not a regular expression"),
    ("evalute_timeout = 1", "", "evalute_timeout = 1: unknown key. Fix: did you mean `evaluate_timeout`?"),
    ('"od\\nd" = 1', "", r"'od\nd' = 1: unknown key. Fix: use one of name, evaluate, "),
    ("", "[roles.worker]\ntimout = 1", "roles.worker.timout = 1: unknown key. Fix: did you mean `timeout`?"),
    (
        "",
        "[roles.lead]\ntimeout = 1",
        "roles.lead = {…}: unknown key. Fix: use one of worker, watchdog, research.",
    ),
    ("evaluate_timeout = 0", "", "evaluate_timeout = 0: out of range. Fix: use a number above 0."),
    ("evaluate_timeout = nan", "", "evaluate_timeout = nan: not a finite number"),
    ("evaluate_timeout = -inf", "", "evaluate_timeout = -inf: not a finite number"),
    (
        "evaluate_timeout = true",
        "",
        "evaluate_timeout = true: not a number. Fix: write a number, without quotes.",
    ),
    ('evaluate_timeout = "60"', "", "evaluate_timeout = '60': not a number."),
    ("attempts = 99999999999999999999", "", "attempts = a number of more than 64 bits: not a finite number"),
    ("attempts = 1.0", "", "attempts = 1.0: not a whole number."),
    ("attempts = 2020-01-01", "", "attempts = 2020-01-01: not a whole number."),
    ("max_evaluations = 0", "", "max_evaluations = 0: out of range. Fix: use a number at least 1."),
    ("confidence = 0.5", "", "confidence = 0.5: out of range. Fix: use a number above 0.5 and below 1."),
    ("harnesses = []", "", "harnesses = []: empty. Fix: name at least one, or leave the key out."),
    ('harnesses = [""]', "", "harnesses[0] = '': empty."),
    ('runtime = "herd"', "", "runtime = 'herd': not one of herdr, subprocess. Fix: did you mean `herdr`?"),
    ("runtime = 1", "", "runtime = 1: not one of herdr, subprocess. Fix: use one of these, in quotes."),
    ('model = "opus"', "", "model = 'opus': not a table. Fix: write it as a table, as in { key = value }."),
    ("model = { claude = 1 }", "", "model.claude = 1: not a string. Fix: put it in quotes."),
    ('model = { "" = "x" }', "", "model.'' = 'x': the name is empty."),
    ("max_concurrent = { codex = 0 }", "", "max_concurrent.codex = 0: out of range."),
    ('link = ["/data"]', "", "link[0] = '/data': an absolute path. Fix: give it relative to the repo's root."),
    ('link = ["a/../../b"]', "", "link[0] = 'a/../../b': leads out of its folder with '..'."),
    ('link = ["."]', "", "link[0] = '.': not a path inside the repo."),
    ('link = [{ path = "/data" }]', "", "link[0].path = '/data': an absolute path."),
    ('link = [{ path = "a", writ = true }]', "", "link[0].writ = true: unknown key. Fix: did you mean `write`?"),
    ("link = [{ write = true }]", "", "link[0].path: missing."),
    ('link = [{ path = "a", write = "yes" }]', "", "link[0].write = 'yes': not true or false."),
    ('link = ["a", { path = "a" }]', "", "link[1] = 'a': named twice."),
    ('link = ["a/b", "c", "a"]', "", "link[2] = 'a': a/b is linked too, and one is inside the other."),
    ("link = [3]", "", "link[0] = 3: not a string."),
    ("", "[setup]\ncommand = []", "setup.command = []: no program to run."),
    ("", "[setup]\ntimeout = 1", "setup.command: missing."),
    ("", '[setup]\ncommand = ["x"]\nreads = ["/../y"]', "setup.reads[0] = '/../y': leads out of its folder"),
    ('protect = ["~/x"]', "", "protect[0] = '~/x': an absolute path."),
    ('protect = ["a\\u0000"]', "", r"protect[0] = 'a\x00': holds a NUL character."),
    ('evaluate_env = ["A=b"]', "", "evaluate_env[0] = 'A=b': not the name of an environment variable."),
    ("attempts = [[[1]], 2]", "", "attempts = [[…], …]: not a whole number."),
    ("attempts = " + "[" * 390 + "]" * 390, "", "attempts = [[…]]: not a whole number."),
    (
        "plugins." + "a." * 900 + "a = 1",
        "",
        f"plugins.{'a.' * 31}a = {{…}}: nested too deeply. Fix: use at most 30",
    ),
    ("", "[stop]\nplateau = 0", "stop.plateau = 0: out of range."),
    ("", "[tmux]\nwidth = 3", "tmux.width = 3: out of range. Fix: use a number at least 40 and at most 10000."),
    ("", '[tmux]\nsocket = "/tmp/x"', "tmux.socket = '/tmp/x': not a name for tmux -L."),
    ("", "[plugins]\nblock = 'x'", "plugins.block = 'x': not a list of plugin names."),
    ("", "[plugins]\nnotify = true", "plugins.notify = true: not a table. Fix: put a plugin's settings below"),
    ("", "[plugins.notify]\nrate = [1, inf]", "plugins.notify.rate[1] = inf: not a finite number"),
    ("", '[harness.h]\nbusy = "("', "harness.h.busy = '(': not a regular expression: missing ), "),
    (
        "",
        '[harness.h]\nbusy = "(?\\u001b)"',
        r"harness.h.busy = '(?\x1b)': not a regular expression: unknown extension ?\x1b",
    ),
    ("", '[harness.h]\nreceived = "{text}("', "harness.h.received = '{text}(': not a regular expression"),
    ("", '[harness.h]\ndialogs = { d = "[" }', "harness.h.dialogs.d = '[': not a regular expression"),
    ("", '[harness."a b"]\nnewline = "x"', "harness.'a b'.newline = 'x': not one of keep, space."),
    ("", '[harness.h]\nheadless = ["x"]', "harness.h.headless = ['x']: does not say where the prompt goes."),
    ("", '[harness.h]\ninteractive = [""]', "harness.h.interactive = ['']: no program to run."),
    (
        "",
        '[harness.h]\nenv = { "a-b" = "1" }',
        "harness.h.env = {…}: 'a-b' is not the name of an environment variable",
    ),
    ("", '[harness.h]\nstartup_dialogs = [["a"]]', "harness.h.startup_dialogs[0] = ['a']: has 1 parts, not 2."),
    ("", '[mcp.m]\nurl = "u"\ncommand = ["c"]', "mcp.m: has both url and command. Fix: give one of them."),
    ("", "[mcp.m]", "mcp.m: has no url and no command."),
    ("", "[mcp.m]\ncommand = 3", "mcp.m.command = 3: not a list."),
    (
        "",
        '[mcp.m]\ncommand = ["c"]\nbearer_token_env = "T"',
        "mcp.m.bearer_token_env: only for a server with url.",
    ),
    (
        "",
        '[mcp.m]\nurl = "u"\nheaders_env = { A = "a b" }',
        "mcp.m.headers_env.A = 'a b': not the name of an env",
    ),
    ("", '[roles.worker]\nmcp = ["m"]', "roles.worker.mcp[0] = 'm': no such MCP server. Fix: add [mcp.m]."),
    ("", "[spend]\nlimit = 5", "spend.command: missing. Fix: add it: a list."),
    ("", '[spend]\ncommand = ["s"]\nlimit = 5\nnotices = [5]', "spend.notices[0] = 5: not below spend.limit."),
    ("", "[roles.research.scout]\nseeds = 1", "roles.research.scout.interval: missing."),
    ("", "[tracks.a]", "tracks: only for several primary metrics."),
    (
        "",
        '[[metrics]]\nname = "score"\ndirection = "lower"',
        "metrics[1].name = 'score': an earlier metric has this",
    ),
    (
        "",
        '[[metrics]]\nname = "g"\ndirection = "lower"\nrole = "guardrail"',
        "metrics[1].margin: missing: a guardrail",
    ),
    (
        "",
        '[[metrics]]\nname = "a b"\ndirection = "lower"',
        "metrics[1].name = 'a b': cannot be printed as METRIC",
    ),
    ("", '[[metrics]]\nname = "g"', 'metrics[1].direction: missing. Fix: add it: "higher" or "lower".'),
    ("", '[[metrics]]\nname = "g"\ndirection = "lower"\nmargin = -1', "metrics[1].margin = -1: out of range."),
    ("", '[[metrics]]\nname = "g"\ndirection = "lower"\ntrack = "t"', "metrics[1].track = 't': no such track."),
]


@pytest.mark.parametrize(("top", "end", "expected"), ROWS, ids=[row[2][:40] for row in ROWS])
def test_each_kind_of_mistake(tmp_path: Path, top: str, end: str, expected: str) -> None:
    (line,) = lines(tmp_path, f"{HEAD}{top}\n{METRIC}{end}\n")
    assert line.startswith(expected)


NAMES = ["", "a b", "a/b", ".a", "-a", "a..b", "a.lock", "a.", "a~", "é", "x" * 65, "a\\n"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_cannot_be_a_ref(tmp_path: Path, name: str) -> None:
    (line,) = lines(tmp_path, f'name = "{name}"\nevaluate = ["x"]\n{METRIC}')
    assert "cannot be part of a git ref" in line


def test_an_example_word_for_word(tmp_path: Path) -> None:
    (line,) = lines(tmp_path, HEAD + METRIC.replace('"primary"', '"boss"'))
    assert line.startswith("metrics[0].role = 'boss': not one of primary, guardrail, watch. Fix: ")


def test_an_empty_file_lacks_what_is_required(tmp_path: Path) -> None:
    assert [line.split(":")[0] for line in lines(tmp_path, "")] == ["name", "evaluate", "metrics"]


def test_without_a_primary_metric(tmp_path: Path) -> None:
    (line,) = lines(tmp_path, HEAD + METRIC.replace('role = "primary"', ""))
    assert line == 'metrics: none of them is primary. Fix: set role = "primary" on the metric to improve.'


def primary(name: str, more: str) -> str:
    return f'[[metrics]]\nname = "{name}"\ndirection = "lower"\nrole = "primary"\n{more}\n'


TRACKS = [
    (
        primary("a", "margin = 1\ntrack = 'x'") + primary("b", ""),
        ["metrics[1].track", "metrics[1].margin", "metrics[0].track"],
    ),
    (
        primary("a", "margin = 1\ntrack = 'x'") + primary("b", "margin = 1\ntrack = 'x'") + "[tracks.x]",
        ["tracks.x"],
    ),
    (
        primary("a", "margin = 1\ntrack = 'x'")
        + primary("b", "margin = 1\ntrack = 'y'")
        + "[tracks.x]\nshare = 0.5\n[tracks.y]\nshare = 0.25\n[stop]\ntarget = 3",
        ["tracks", "stop.target = 3"],
    ),
    (
        primary("a", "margin = 1\ntrack = 'x'")
        + primary("b", "margin = 1\ntrack = 'y'")
        + "[tracks.x]\nshare = 0.5\n[tracks.y]\nshare = 0.25\n[tracks.z]\nshare = 0.25",
        ["tracks.z"],
    ),
]


@pytest.mark.parametrize(("text", "places"), TRACKS)
def test_tracks_and_their_metrics(tmp_path: Path, text: str, places: list[str]) -> None:
    assert [line.split(": ")[0].split(" = '")[0] for line in lines(tmp_path, HEAD + text)] == places


UNREADABLE = [
    (b'name = "p"\nevaluate = [\n', "piloop.toml line 2: not TOML: "),
    (b'name = "p"\nruntime = herdr\n', "piloop.toml line 2: not TOML: Invalid value. Fix: "),
    (b'name = "p"\nname = "q"\n', "piloop.toml line 2: not TOML: Cannot overwrite a value."),
    (b"name = '''\n\n", "piloop.toml line 2: not TOML: "),
    (b'name = "p"\n\n# \xff\n', "piloop.toml line 3: byte 0xff is not UTF-8. Fix: save the file as UTF-8."),
    (b"attempts = " + b"9" * 5000, "piloop.toml: not TOML: "),
    (b"attempts = " + b"[" * 5000, "piloop.toml: nested too deeply."),
    (b"plugins." + b"a." * 5000 + b"a = 1", "piloop.toml: nested too deeply."),
]


@pytest.mark.parametrize(("content", "expected"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_a_file_that_is_not_toml(tmp_path: Path, content: bytes, expected: str) -> None:
    (line,) = lines(tmp_path, content)
    assert line.startswith(expected)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_config(tmp_path, {})
    file = tmp_path / "piloop.toml"
    assert str(caught.value) == f"{file}: there is no such file. Fix: run herdr init in the repo."
    assert caught.value.file == file


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "piloop.toml").mkdir()
    with pytest.raises(ConfigError, match=r"piloop\.toml: cannot be read: Is a directory\. Fix: ") as caught:
        read_config(tmp_path, {})
    assert len(caught.value.mistakes) == 1


VARIABLES = [
    ({"PILOOP_PROJECT_EVALUATE_TIMEOUT": "soon"}, "PILOOP_PROJECT_EVALUATE_TIMEOUT = 'soon': not a number."),
    ({"PILOOP_PROJECT_ATTEMPT": "1"}, "PILOOP_PROJECT_ATTEMPT = 1: unknown key. Fix: did you mean `attempts`?"),
    ({"PILOOP_PROJECT_ROLES__WORKER__TIMEOUT": "0"}, "PILOOP_PROJECT_ROLES__WORKER__TIMEOUT = 0: out of range."),
    (
        {"PILOOP_PROJECT_TMUX": "{height = 20}", "PILOOP_PROJECT_TMUX__WIDTH": "1"},
        "PILOOP_PROJECT_TMUX__WIDTH = 1: out of range.",
    ),
    ({"PILOOP_PROJECT_SPEND": "{limit = 3}"}, "PILOOP_PROJECT_SPEND.command: missing."),
    (
        {"PILOOP_PROJECT_METRICS": "[{name='a', direction='up', role='primary'}]"},
        "PILOOP_PROJECT_METRICS[0].direction",
    ),
    (
        {"PILOOP_PROJECT_METRICS__0__ROLE": "watch"},
        "PILOOP_PROJECT_METRICS__0__ROLE = 'watch': there is no table",
    ),
    ({"PILOOP_PROJECT_NAME": "\udcff"}, "PILOOP_PROJECT_NAME = '\\udcff': not UTF-8."),
    ({"PILOOP_PROJECT_A B": "1"}, "'PILOOP_PROJECT_A B' = 1: unknown key."),
    ({"PILOOP_PROJECT_": "1"}, "PILOOP_PROJECT_ = 1: unknown key."),
    (
        {"PILOOP_PROJECT_ATTEMPTS": "1\nname = 'q'"},
        r'PILOOP_PROJECT_ATTEMPTS = "1\nname = ' + "'q'\": not a whole number.",
    ),
]


@pytest.mark.parametrize(("environ", "expected"), VARIABLES)
def test_a_mistake_in_a_variable_names_the_variable(
    tmp_path: Path, environ: Mapping[str, str], expected: str
) -> None:
    (line,) = lines(tmp_path, HEAD + METRIC, environ)
    assert line.startswith(expected)
