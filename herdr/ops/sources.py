"""What each source of ideas is worth: how many of its ideas produced a keep (docs/ideas-seeds-runs.md)."""

from __future__ import annotations

import msgspec

from herdr.store.connection import Store
from herdr.store.rows import Project

#: An idea's source is an actor, `research#7`; what is counted is the role.
ROLE = "iif(instr({0}, '#'), substr({0}, 1, instr({0}, '#') - 1), {0})"


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A source, how many ideas it wrote, and how many of those produced a keep."""

    source: str
    ideas: int
    kept: int


def sources_of(conn: Store, project: Project) -> list[Source]:
    """The sources of a project's ideas, those with the most keeps first.

    Args:
        conn: the open store.
        project: whose ideas.
    """
    written = conn.execute(
        f"SELECT {ROLE.format('source')}, sum(n) FROM (SELECT source, count(*) AS n"  # noqa: S608 - all of it is ours
        " FROM ideas WHERE project_id = ? GROUP BY source) GROUP BY 1",
        (project.id,),
    ).fetchall()
    kept = conn.execute(
        f"SELECT {ROLE.format('i.source')}, count(DISTINCT i.id) FROM candidates c"  # noqa: S608
        " JOIN runs r ON r.id = c.run_id JOIN ideas i ON i.id = r.idea_id"
        " WHERE c.project_id = ? AND c.verdict = 'keep' GROUP BY 1",
        (project.id,),
    ).fetchall()
    keeps = dict(kept)
    found = [Source(source=row[0], ideas=row[1], kept=keeps.get(row[0], 0)) for row in written]
    return sorted(found, key=lambda one: (-one.kept, -one.ideas, one.source))
