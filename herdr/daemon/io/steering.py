"""Comments on a running run or its idea become messages to its agent."""

from __future__ import annotations

from herdr.campaign.steering import may_steer
from herdr.campaign.text import ref, steering_line
from herdr.daemon.app_context import AppContext
from herdr.store.columns import NewMessage
from herdr.store.connection import Store
from herdr.store.rows import Comment, Message, fetch, find

#: Every comment on what a live worker works on that it has neither in its brief nor as a message.
WAITING = """
    JOIN runs r ON (comments.about_kind = 'run' AND comments.about_id = r.id)
                OR (comments.about_kind = 'idea' AND comments.about_id = r.idea_id)
    JOIN agents a ON a.run_id = r.id AND a.state <> 'ended' AND a.role = 'worker'
    WHERE comments.id > a.briefed_to AND a.id = ?
      AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.agent_id = a.id AND m.comment_id = comments.id)
    ORDER BY comments.id
"""


def waiting_for(store: Store, agent_id: int) -> list[Comment]:
    """The comments that are to be typed to an agent, in their order."""
    return [one for one in fetch(store, Comment, WAITING, agent_id) if may_steer(one.kind, one.actor)]


class Steering:
    """Watches for new comments; remembers only the newest that it has looked at."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._seen: tuple[int, int] = (-1, -1)

    async def run(self) -> None:
        """Turn comments into messages whenever something changed, until cancelled."""
        while True:
            await self._app.guard("steering", self._sweep)
            await self._app.changes.wait()

    async def _sweep(self) -> None:
        store = self._app.store
        newest = store.execute(
            "SELECT coalesce((SELECT max(id) FROM comments), 0), coalesce((SELECT max(id) FROM agents), 0)"
        ).fetchone()
        if tuple(newest) == self._seen:
            return
        live = store.execute("SELECT id FROM agents WHERE state <> 'ended' AND role = 'worker'").fetchall()
        for (agent_id,) in live:
            self._queue(agent_id)
        self._seen = tuple(newest)

    def _queue(self, agent_id: int) -> None:
        waiting = waiting_for(self._app.store, agent_id)
        if not waiting:
            return
        with self._app.transaction() as store:
            for comment in waiting:
                if find(store, Message, "WHERE agent_id = ? AND comment_id = ?", agent_id, comment.id) is None:
                    Message.insert(store, **_message(agent_id, comment), actor=comment.actor)
        self._app.changes.notify()


def _message(agent_id: int, comment: Comment) -> NewMessage:
    line = steering_line(
        comment=comment.id,
        kind=comment.kind,
        target=ref(comment.target_kind, comment.target_id),
        author=comment.actor,
        body=comment.body,
    )
    return {
        "agent_id": agent_id,
        "kind": "comment",
        "comment_id": comment.id,
        "body": line,
    }
