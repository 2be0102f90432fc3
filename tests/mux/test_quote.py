"""What tmux is given comes through unchanged, and acts on nothing."""

from __future__ import annotations

import random
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herdr.mux.errors import TmuxError
from herdr.mux.quote import LABEL_LENGTH, clean, escape_format, label, quote
from herdr.mux.windows import kill_window, open_window, set_title

HOSTILE = [
    "#(touch pwned)",
    "#{pane_id}",
    "#[fg=red]x#(touch pwned)",
    "#[#(touch pwned)]",
    "##[x ### #",
    "%H:%M %%",
    "-x",
    "--",
    "~",
    "~/x",
    ";",
    "a;",
    "a\\;",
    "a ; touch pwned",
    "two\nkill-server",
    "\"q\" 'q' `id` $HOME ${HOME}",
    "back\\slash\\",
    "{ } = [ ]",
    "日本語 🚀 é",
    "tab\tcr\r bell\a",
    "  spaces  ",
    "x;#~$" * 8_000,
]


def test_quoted_text_is_plain_ascii() -> None:
    assert quote('a B;"é\n') == '"a B\\073\\042\\303\\251\\012"'
    assert quote("\udcff") == '"\\377"'
    with pytest.raises(TmuxError, match="NUL"):
        quote("a\0b")


def test_formats_have_their_hash_doubled() -> None:
    assert escape_format("#(x) #{y} ##") == "##(x) ##{y} ####"
    assert escape_format("#[z] ##[z]") == "#[z] ##[z]"


@pytest.mark.anyio
async def test_any_text_comes_through_tmux(mux: Any, tmp_path: Path) -> None:
    seeded = random.Random(3)
    alphabet = [chr(code) for code in (*range(1, 256), 0x65E5, 0x1F680)]
    texts = HOSTILE + ["".join(seeded.choices(alphabet, k=60)) for _ in range(100)]
    saved = tmp_path / "saved"
    for text in texts:
        await mux.client.run("set-buffer", "-b", "b", "--", text)
        await mux.client.run("save-buffer", "-b", "b", str(saved))
        assert saved.read_bytes() == text.encode()
    assert not mux.client.gone


@pytest.mark.anyio
async def test_names_and_directories_are_only_that(mux: Any, tmp_path: Path) -> None:
    for number, text in enumerate(text for text in HOSTILE if len(text) < 100):
        cwd = tmp_path / f"{number} {text.replace('/', '-')}"
        cwd.mkdir()
        window, pane = await open_window(mux.client, text, cwd, ["cat"], width=100, height=30)
        (name,) = await mux.client.run("display-message", "-p", "-t", pane, "#{window_name}")
        assert name == label(text).replace(".", "_").replace(":", "_")
        await set_title(mux.client, pane, text)
        (title,) = await mux.client.run("display-message", "-p", "-t", pane, "#{pane_title}")
        assert title == label(text)
        await kill_window(mux.client, window)
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.anyio
async def test_a_title_in_the_status_line_runs_nothing(mux: Any, tmp_path: Path, terminal: Any) -> None:
    mark = tmp_path / "pwned"
    program = await mux.open("cat", name=f"#(touch {mark}) #[#(touch {mark})]")
    await set_title(mux.client, program.pane, f"#(touch {mark})")
    await mux.client.run("select-window", "-t", program.window)
    person = terminal([*mux.server.argv, "attach-session", "-t", mux.client.session], mux.server.environ)

    async def drawn() -> bool:
        return b"#(touch" in person.seen()

    await mux.until(drawn, "the status line")
    assert not mark.exists()


any_text = st.text() | st.text(alphabet="a!/#@ \n\t\r\x1b[]0;m\x07\\\u200b\u202e\x9b\x85")


@given(any_text, st.sampled_from(["keep", "space"]), st.booleans())
def test_clean_text_acts_on_nothing(text: str, newline: Any, disarm_at: bool) -> None:
    cleaned = clean(text, newline=newline, disarm="!/#", disarm_at=disarm_at)
    assert all(char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") for char in cleaned)
    assert newline == "keep" or "\n" not in cleaned
    assert not re.search(r"(?m)^[!/#]", cleaned)
    assert not cleaned.endswith("\\")
    assert not (disarm_at and re.search(r"(?<!\w)@\S", cleaned))
    assert clean(cleaned, newline=newline, disarm="!/#", disarm_at=disarm_at) == cleaned


@given(st.text(alphabet="abc é日!#/.,;'\"$~\\x"))
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert clean(text, newline="keep", disarm="", disarm_at=True).strip() == text.strip()


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jx", "x"),
        ("\x1bP1$tx\x1b\\y", "y"),
        ("a\u202eb\u200bc\ufeffd\u2066e\U000e0041", "abcde"),
        ("a\tb", "a    b"),
        ("one\r\ntwo\rthree", "one two three"),
        ("\u200b!ls", " !ls"),
        ("/help", " /help"),
        ("# title", " # title"),
        ("a @x/y (@z) me@home @", "a @ x/y (@ z) me@home @"),
        ("ends in \\", "ends in \\ "),
    ],
)
def test_by_example(text: str, cleaned: str) -> None:
    assert clean(text, newline="space", disarm="!/#", disarm_at=True) == cleaned


def test_kept_lines_are_disarmed_one_by_one() -> None:
    assert clean("a\n!b\n\n/c", newline="keep", disarm="!/", disarm_at=False) == "a\n !b\n\n /c"


def test_label_is_one_short_line() -> None:
    assert label("a\nb\x1b[1m" + "c" * 500) == "a b" + "c" * (LABEL_LENGTH - 3)
