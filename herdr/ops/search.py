"""Finds ideas and comments by their words."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

from herdr.errors import UsageError
from herdr.ops.core import Context, Request, operation, project_of
from herdr.ops.look import text_of
from herdr.store.connection import Store
from herdr.store.rows import Project

_WORD = re.compile(r"\w+")
IDEAS = (
    "SELECT bm25(ideas_fts, 4.0, 2.0, 1.0), 'idea#' || i.id, i.title, i.status, i.source, i.created_at,"
    " snippet(ideas_fts, -1, '', '', '…', 24) FROM ideas_fts JOIN ideas i ON i.id = ideas_fts.rowid"
    " WHERE ideas_fts MATCH ? AND i.project_id = ? ORDER BY 1 LIMIT ?"
)
COMMENTS = (
    "SELECT bm25(comments_fts), 'comment#' || c.id, c.about_kind || '#' || c.about_id, c.kind, c.actor,"
    " c.created_at, snippet(comments_fts, -1, '', '', '…', 24) FROM comments_fts"
    " JOIN comments c ON c.id = comments_fts.rowid"
    " WHERE comments_fts MATCH ? AND c.project_id = ? ORDER BY 1 LIMIT ?"
)


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """An idea (its status is the `kind`) or a comment (what it is about is the `title`), and the place in it."""

    ref: str
    title: str
    kind: str
    author: str
    created_at: str
    excerpt: str


class Search(Request[list[SearchHit]], frozen=True, kw_only=True):
    """Words to look for; a thing is found when it has all of them, in any form and order."""

    operation = "search.find"
    words: str
    project: str | None = None
    what: Literal["all", "ideas", "comments"] = "all"
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20


@operation(Search)
def find(context: Context, request: Search) -> list[SearchHit]:
    """Find ideas and comments, what fits best first.

    Raises:
        UsageError: there is no word to look for.
    """
    project = project_of(context, request.project)
    query = query_of(text_of(request.words, "the words"))
    ideas = _hits(context.conn, IDEAS, query, project, request.limit) if request.what != "comments" else []
    comments = _hits(context.conn, COMMENTS, query, project, request.limit) if request.what != "ideas" else []
    return [hit for _, hit in sorted([*ideas, *comments], key=lambda found: found[0])[: request.limit]]


def query_of(text: str) -> str:
    """Plain words as a query of FTS5, none of them an operator; the last may be the beginning of a word.

    Raises:
        UsageError: there is no word.
    """
    words = _WORD.findall(text)
    if not words:
        raise UsageError("there is no word to look for", fix='piloop search "gradient boosting"')
    return " ".join(f'"{word}"' for word in words) + "*"


def _hits(conn: Store, statement: str, query: str, project: Project, limit: int) -> list[tuple[float, SearchHit]]:
    rows = conn.execute(statement, (query, project.id, limit)).fetchall()
    return [(row[0], _hit(*(value or "" for value in row[1:]))) for row in rows]


def _hit(name: str, title: str, kind: str, author: str, created_at: str, excerpt: str) -> SearchHit:
    return SearchHit(ref=name, title=title, kind=kind, author=author, created_at=created_at, excerpt=excerpt)
