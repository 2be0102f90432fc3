"""Queries with a name: what each finds, and that no query is written out in two places."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import herdr
from herdr.store import queries
from herdr.store.connection import Store
from herdr.store.rows import Agent, Candidate, Evaluator, Measurement, Message, Run, get, get_or_none

SOURCE = Path(herdr.__file__).parent


def test_no_query_is_written_out_in_two_places() -> None:
    """The second place that asks the same takes it from `herdr.store.queries`."""
    places = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("fetch", "find")
            ):
                asked = tuple(ast.unparse(argument) for argument in node.args[1:3])
                if len(asked) == 2 and asked[1].startswith(("'WHERE", '"WHERE', "'JOIN", '"JOIN')):
                    places[asked[0], ast.literal_eval(asked[1])].append(f"{path.name}:{node.lineno}")
    assert {asked: where for asked, where in places.items() if len(where) > 1} == {}


def test_a_row_by_its_id_that_may_be_none(store: Store) -> None:
    assert get_or_none(store, Run, 1) == get(store, Run, 1)
    assert (get_or_none(store, Run, 2), get_or_none(store, Run, None)) == (None, None)


def test_agents_live_until_they_have_ended(store: Store) -> None:
    assert [agent.id for agent in queries.live_agents(store, 1)] == [1]
    assert (queries.live_agents(store, 2), queries.count_live_agents(store)) == ([], 1)
    Agent.update(store, 1, state="ended", actor="daemon")
    assert (queries.live_agents(store, 1), queries.count_live_agents(store)) == ([], 0)


def test_messages_go_out_in_their_order_until_they_are_settled(store: Store) -> None:
    first = Message.insert(store, agent_id=1, kind="prompt", body="one", actor="human")
    second = Message.insert(store, agent_id=1, kind="prompt", body="two", actor="human")
    Message.update(store, first, state="typed", actor="daemon")
    assert queries.next_message(store, 1) == get(store, Message, first)
    Message.update(store, first, state="unconfirmed", actor="daemon")
    assert queries.next_message(store, 1) == get(store, Message, second)
    Message.update(store, second, state="received", actor="daemon")
    assert queries.next_message(store, 1) is None


def test_a_run_is_unsettled_until_it_is_judged(store: Store) -> None:
    assert [run.id for run in queries.unsettled_runs(store, 1)] == [1]
    Run.update(store, 1, state="failed", actor="daemon")
    assert queries.unsettled_run(store, 1) == get(store, Run, 1)
    Run.update(store, 1, settled_at="2026-01-01T00:00:00.000Z", actor="daemon")
    assert (queries.unsettled_run(store, 1), queries.unsettled_runs(store, 1)) == (None, [])


def test_candidates_by_their_files_their_age_and_the_trunk(store: Store) -> None:
    made = [
        Candidate.insert(
            store,
            project_id=1,
            tree_sha=f"t{number}",
            commit_sha=f"c{number}",
            subject="s",
            origin="run",
            verdict="keep",
            on_trunk=number == 1,
            actor="daemon",
        )
        for number in range(2)
    ]
    assert queries.candidate_of_tree(store, 1, "t0") == get(store, Candidate, made[0])
    assert queries.candidate_of_tree(store, 2, "t0") is None
    assert [one.id for one in queries.latest_candidates(store, 1, 2)] == [3, 2]
    assert [one.id for one in queries.latest_keeps(store, 1, 9)] == [made[1]]


def test_a_score_is_of_one_evaluator_and_not_an_earlier_one(store: Store) -> None:
    evaluator = Evaluator.insert(store, project_id=1, key="k", commit_sha="c", definition="{}", actor="human")
    score = Measurement.insert(store, candidate_id=1, evaluator_id=evaluator, actor="daemon")
    assert queries.score_under(store, 1, evaluator) == get(store, Measurement, score)
    assert queries.score_under(store, 1, None) is None
    Measurement.update(store, score, purpose="earlier", actor="daemon")
    assert queries.score_under(store, 1, evaluator) is None


def test_projects_by_name_and_by_place(store: Store) -> None:
    assert [project.name for project in queries.all_projects(store)] == ["p"]
    assert queries.project_at(store, "/p") == queries.all_projects(store)[0]
    assert queries.project_at(store, "/q") is None
