"""A GitHub on loopback that holds one project and answers reads only, in pages, so that requests are counted."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
from herdr_polyresearch.protocol.threads import Comment, Issue, PullRequest, Snapshot

Row = dict[str, Any]


class Hub:
    """The rows of a project as GitHub sends them, and the requests that were made for them."""

    def __init__(self, project: Snapshot) -> None:
        self.slug = project.repo.full_name
        self.requests = 0
        threads: list[Issue | PullRequest] = [*project.issues, *reversed(project.pulls)]
        self.threads = {
            number: [_comment(self.slug, comment) for comment in comments]
            for number, comments in sorted(project.comments.items())
        }
        said = sorted((row for rows in self.threads.values() for row in rows), key=lambda row: int(row["id"]))
        self.listings: dict[str, list[Row]] = {
            "/issues": [_thread(self.slug, one, len(self.threads.get(one.number, ()))) for one in threads],
            "/issues/comments": said,
            "/pulls": [_pull(self.slug, pull) for pull in reversed(project.pulls)],
            "/collaborators": [{"login": login} for login in project.repo.collaborators or ()],
        }
        self.single: dict[str, Row] = {
            "/user": {"login": "lead"},
            f"/repos/{self.slug}": {"full_name": self.slug, "default_branch": project.repo.default_branch},
        }

    def answer(self, url: str) -> tuple[bytes, str]:
        """The body for a path, and the link to its next page (empty on the last).

        Raises:
            KeyError: nobody who reads a project asks for this path.
        """
        self.requests += 1
        parts = urlsplit(url)
        if parts.path in self.single:
            return msgspec.json.encode(self.single[parts.path]), ""
        query = dict(parse_qsl(parts.query))
        path = parts.path.removeprefix(f"/repos/{self.slug}")
        one = re.fullmatch(r"/issues/(\d+)/comments", path)
        rows = self.threads.get(int(one[1]), []) if one else self.listings[path]
        if "since" in query:
            rows = [row for row in rows if row["updated_at"] >= query["since"]]
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        following = urlencode({**query, "page": page + 1})
        link = f'<{parts.path}?{following}>; rel="next"' if page * size < len(rows) else ""
        return msgspec.json.encode(rows[(page - 1) * size : page * size]), link


@contextmanager
def serving(hub: Hub) -> Iterator[str]:
    """Serve it; gives the root of its API."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Without this the kernel holds the last packet of a body back until the earlier ones are acknowledged.
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            body, link = hub.answer(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if link:
                self.send_header("Link", link)
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _stamp(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def _thread(slug: str, one: Issue | PullRequest, comments: int) -> Row:
    """A row of the listing of issues, which holds pull requests too."""
    row: Row = {
        "number": one.number,
        "url": f"https://api.github.com/repos/{slug}/issues/{one.number}",
        "title": one.title,
        "body": one.body,
        "user": {"login": one.author},
        "state": "open" if one.state == "open" else "closed",
        "comments": comments,
        "created_at": _stamp(one.created_at),
        "updated_at": _stamp(one.closed_at or one.created_at),
        "closed_at": _stamp(one.closed_at),
    }
    if isinstance(one, PullRequest):
        return {**row, "pull_request": {}}
    return {**row, "state_reason": one.state_reason, "labels": [{"name": name} for name in one.labels]}


def _pull(slug: str, pull: PullRequest) -> Row:
    return {
        **_thread(slug, pull, 0),
        "merged_at": _stamp(pull.merged_at),
        "merge_commit_sha": pull.merge_sha,
        "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": {"full_name": slug}},
        "base": {"ref": pull.base_ref, "sha": "b" * 40},
    }


def _comment(slug: str, comment: Comment) -> Row:
    return {
        "id": comment.id,
        "issue_url": f"https://api.github.com/repos/{slug}/issues/{comment.thread}",
        "user": {"login": comment.author},
        "body": comment.body,
        "created_at": _stamp(comment.created_at),
        "updated_at": _stamp(comment.updated_at),
    }
