"""What more than one place asks of the tables, by name."""

from __future__ import annotations

import sqlite3

from herdr.store.rows import Agent, Candidate, Measurement, Message, Project, Run, fetch, find


def all_projects(conn: sqlite3.Connection) -> list[Project]:
    """Every registered project, by name."""
    return fetch(conn, Project, "ORDER BY name")


def project_at(conn: sqlite3.Connection, path: str) -> Project | None:
    """The project whose repo is at this absolute path."""
    return find(conn, Project, "WHERE path = ?", path)


def live_agents(conn: sqlite3.Connection, project_id: int) -> list[Agent]:
    """The agents of a project that have not ended, in the order of their launches."""
    return fetch(conn, Agent, "WHERE project_id = ? AND state <> 'ended' ORDER BY id", project_id)


def count_live_agents(conn: sqlite3.Connection) -> int:
    """How many agents have not ended, of all projects."""
    count: int = conn.execute("SELECT count(*) FROM agents WHERE state <> 'ended'").fetchone()[0]
    return count


def next_message(conn: sqlite3.Connection, agent_id: int) -> Message | None:
    """The oldest message that is still to be typed, or is typed and not known to have arrived."""
    which = "WHERE agent_id = ? AND state IN ('queued', 'typed') ORDER BY id"
    return find(conn, Message, which, agent_id)


def unsettled_runs(conn: sqlite3.Connection, project_id: int) -> list[Run]:
    """The runs of a project that are waiting, going on, or not judged to the end; the oldest first."""
    return fetch(conn, Run, "WHERE project_id = ? AND settled_at IS NULL ORDER BY id", project_id)


def unsettled_run(conn: sqlite3.Connection, idea_id: int) -> Run | None:
    """Such a run of an idea."""
    return find(conn, Run, "WHERE idea_id = ? AND settled_at IS NULL ORDER BY id", idea_id)


def candidate_of_tree(conn: sqlite3.Connection, project_id: int, tree: str) -> Candidate | None:
    """The candidate that has exactly these files: a tree is one candidate, however often it is committed.

    Args:
        conn: the store.
        project_id: the project.
        tree: the id of a git tree.
    """
    return find(conn, Candidate, "WHERE project_id = ? AND tree_sha = ?", project_id, tree)


def latest_candidates(conn: sqlite3.Connection, project_id: int, limit: int) -> list[Candidate]:
    """The newest candidates of a project, the newest first.

    Args:
        conn: the store.
        project_id: the project.
        limit: the most that are read.
    """
    return fetch(conn, Candidate, "WHERE project_id = ? ORDER BY id DESC LIMIT ?", project_id, limit)


def latest_keeps(conn: sqlite3.Connection, project_id: int, limit: int) -> list[Candidate]:
    """The keeps on the trunk, from the head backwards.

    Args:
        conn: the store.
        project_id: the project.
        limit: the most that are read.
    """
    which = "WHERE project_id = ? AND verdict = 'keep' AND on_trunk = 1 ORDER BY id DESC LIMIT ?"
    return fetch(conn, Candidate, which, project_id, limit)


def score_under(conn: sqlite3.Connection, candidate_id: int, evaluator_id: int | None) -> Measurement | None:
    """The scoring of a candidate under one evaluator, done or not; an earlier one that was replaced is none.

    Args:
        conn: the store.
        candidate_id: the candidate.
        evaluator_id: the evaluator; None, of a project that has none yet, gives None.
    """
    which = "WHERE candidate_id = ? AND evaluator_id = ? AND purpose = 'score'"
    return find(conn, Measurement, which, candidate_id, evaluator_id)
