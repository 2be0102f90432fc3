"""The editable surface, and what a candidate may not bring in whatever its lists say."""

from __future__ import annotations

import pytest
from herdr_polyresearch.protocol.policy import SurfaceError, check
from herdr_polyresearch.protocol.surface import PatternError, Surface, glob_regex, read_surface
from herdr_polyresearch.protocol.threads import ChangedFile

SURFACE = Surface(can=("src/**", "lib/"), cannot=("src/secret/", "**/*.lock"))


def reasons(*changes: ChangedFile, surface: Surface = SURFACE) -> list[tuple[str, str]]:
    return [(v.path, v.reason) for v in check(surface, changes)]


def test_what_stays_within_the_surface_passes() -> None:
    assert reasons(ChangedFile(path="src/a.py"), ChangedFile(path="lib/deep/er/b", status="added")) == []


@pytest.mark.parametrize("path", ["setup.py", "src/secret/x", "lib/a.lock", "Src/a.py", "other/src/a.py"])
def test_what_is_outside_does_not(path: str) -> None:
    assert reasons(ChangedFile(path=path)) == [(path, "it is outside the editable surface")]


@pytest.mark.parametrize(
    "path", ["PROGRAM.md", "PREPARE.md", "POLYRESEARCH.md", "results.tsv", ".polyresearch/run.sh"]
)
def test_the_protocols_own_files_are_never_a_candidates(path: str) -> None:
    assert reasons(ChangedFile(path=path), surface=Surface(can=("**",))) == [(path, "it belongs to the protocol")]


def test_a_renamed_file_is_looked_at_where_it_was_too() -> None:
    moved = ChangedFile(path="src/eval.py", previous_path="eval.py", status="renamed")
    assert reasons(moved) == [("eval.py", "it is outside the editable surface")]
    assert reasons(ChangedFile(path="src/b.py", previous_path="src/a.py", status="renamed")) == []


@pytest.mark.parametrize(
    ("mode", "reason"), [("120000", "it is a symbolic link"), ("160000", "it is a submodule")]
)
def test_links_and_submodules_are_refused_wherever_they_are(mode: str, reason: str) -> None:
    for old in ("000000", "100644"):
        assert reasons(ChangedFile(path="src/x", old_mode=old, new_mode=mode)) == [("src/x", reason)]
    assert reasons(ChangedFile(path="src/x", old_mode=mode, new_mode="000000", status="removed")) == []


def test_a_file_of_which_only_the_mode_changes_is_a_changed_file() -> None:
    assert reasons(ChangedFile(path="run.sh", old_mode="100644", new_mode="100755"))
    assert reasons(ChangedFile(path="src/run.sh", old_mode="100644", new_mode="100755")) == []


def test_a_pattern_that_means_nothing_stops_the_check() -> None:
    for surface in (Surface(can=("src/[",)), Surface(can=("**",), cannot=("{a",))):
        with pytest.raises(SurfaceError, match="means nothing"):
            check(surface, [ChangedFile(path="src/a")])
    assert not Surface(can=("src/**", "[")).allows("src/a"), "the existing tool allows nothing then"
    assert Surface(can=("**",), cannot=("[",)).allows("src/a"), "and passes it over there"


def test_an_empty_surface_allows_nothing() -> None:
    assert not read_surface("").allows("a")


def test_the_last_pattern_that_takes_a_file_wins() -> None:
    surface = read_surface("## What you CAN modify\n- src/\n- !src/gen/\n- src/gen/ok.py\n")
    assert [surface.allows(p) for p in ("src/a", "src/gen/b", "src/gen/ok.py")] == [True, False, True]
    assert not read_surface("## What you CAN modify\n- !a\n").allows("b")


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a.js", ["a.js"], ["b/a.js", "a-js", "A.js"]),
        ("*.js", ["a.js", "b/a.js"], ["a.jsx"]),
        ("src/*/x", ["src/a/x", "src/a/b/x"], ["src/x"]),
        ("src/**/x", ["src/x", "src/a/b/x"], ["srcx", "src/ax"]),
        ("**/x", ["x", "a/b/x"], ["ax"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "srca"]),
        ("src/", ["src/a/b"], ["src"]),
        ("**", ["a", "a/b"], []),
        ("a?c", ["abc", "a/c"], ["ac"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "-x"]),
        ("[!a-c]x", ["dx"], ["ax"]),
        ("[]]x", ["]x"], ["x"]),
        ("[a^&|~]", ["^", "&", "a"], ["b"]),
        ("{a,b*}.py", ["a.py", "bcd.py"], ["c.py", "a,b.py"]),
        ("{a,{b,c}}", ["a", "b", "c"], ["d"]),
        (r"a\*b", ["a*b"], ["axb"]),
        ("a,b", ["a,b"], ["a", "b"]),
        ("a.b+(c)|d$", ["a.b+(c)|d$"], ["axb+(c)|d$"]),
        ("/a", [], ["a"]),
        ("./a", [], ["a"]),
        ("line\n", ["line\n"], ["line"]),
    ],
)
def test_globs_match_as_the_existing_tool_has_them(pattern: str, yes: list[str], no: list[str]) -> None:
    regex = glob_regex(pattern)
    assert [p for p in yes if not regex.fullmatch(p)] == []
    assert [p for p in no if regex.fullmatch(p)] == []


@pytest.mark.parametrize("pattern", ["[", "[a", "[]", "{", "a}", "{a,b", "a\\", "[z-a]"])
def test_an_open_end_means_nothing(pattern: str) -> None:
    with pytest.raises(PatternError):
        glob_regex(pattern)
