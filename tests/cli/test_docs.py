"""The pages that are made from the code are what the code says today."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import inspect as shapes

from herdr.cli.docs import configuration
from herdr.cli.docs.__main__ import PAGES, main
from herdr.config.structs import Config

DOCS = Path(__file__).parents[2] / "docs"
TABLES = {path: struct for _, path, struct in configuration.tables(shapes.type_info(Config), "", "")}


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    page = (DOCS / name).read_text("utf-8")
    if page != PAGES[name]():
        pytest.fail(f"docs/{name} is out of date: make docs")


def test_make_docs_writes_every_page_and_says_which_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(PAGES)
    capsys.readouterr()
    main(tmp_path)
    assert capsys.readouterr().out == ""
    (tmp_path / "commands.md").write_text("old")
    main(tmp_path)
    assert capsys.readouterr().out == f"wrote {tmp_path / 'commands.md'}\n"
    assert (tmp_path / "commands.md").read_text("utf-8") == PAGES["commands.md"]()


@pytest.mark.parametrize("path", TABLES)
def test_every_key_has_a_meaning(path: str) -> None:
    struct = TABLES[path]
    keys = {field.name for field in struct.fields}
    assert keys == set(configuration.meanings(struct.cls)), "a docstring below each field says what it means"


def test_every_table_of_the_file_has_a_section() -> None:
    assert {"", "metrics[]", "tracks.<name>", "roles.worker", "spend", "harness.<name>", "tmux"} <= set(TABLES)
