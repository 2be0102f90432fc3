"""A small GitHub on loopback that fails as it is told to: what no stand-in does on demand."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

Row = dict[str, Any]
START = datetime(2026, 4, 10, 9, 0, 0, tzinfo=timezone.utc)


class Fault:
    """What goes wrong with the next request that matches: `kind` is a status, or one of drop, slow, broken.

    Args:
        kind: an HTTP status, `drop` (the connection), `slow` (no answer until released), `broken` (not JSON).
        verb: of the request.
        path: a pattern that its path has to match.
        after: whether the request takes effect before it fails.
        headers: of the failing answer.
        message: in it.
    """

    def __init__(
        self,
        kind: int | str,
        verb: str = "POST",
        path: str = ".*",
        *,
        after: bool = False,
        headers: dict[str, str] | None = None,
        message: str = "it went wrong",
        times: int = 1,
    ) -> None:
        self.kind = kind
        self.verb = verb
        self.path = path
        self.after = after
        self.headers = headers or {}
        self.message = message
        self.times = times


class FakeHub:
    """The repository lead/lab, seen by whoever has the token `tok_<login>`. Time stands still until moved."""

    def __init__(self) -> None:
        self.now = START
        self.slug = "lead/lab"
        self.issues: dict[int, Row] = {}
        self.pulls: dict[int, Row] = {}
        self.comments: dict[int, Row] = {}
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.released = threading.Event()
        self.slow_done = threading.Event()
        self.lock = threading.RLock()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def handle_any(self) -> None:
                hub.handle(self)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any  # noqa: N815

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        """Stop serving."""
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def tick(self, seconds: float = 1) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    # --- answering --------------------------------------------------------------------------------------------

    def handle(self, request: Any) -> None:
        """Answer one request, or fail at it."""
        verb, parts = request.command, urlsplit(request.path)
        body = request.rfile.read(int(request.headers.get("content-length") or 0))
        token = (request.headers.get("authorization") or "").split(" ")[-1]
        with self.lock:
            self.requests.append(f"{verb} {request.path}")
            fault = next((f for f in self.faults if f.verb == verb and re.fullmatch(f.path, parts.path)), None)
            if fault is not None:
                fault.times -= 1
                if not fault.times:
                    self.faults.remove(fault)
        if fault is not None and fault.kind == "slow":
            self.released.wait(20)
        status, answer = 200, None
        headers: dict[str, str] = {}
        if fault is None or fault.after:
            with self.lock:
                status, answer, headers = self.answer(
                    verb, parts.path, dict(parse_qsl(parts.query)), json.loads(body or b"null"), token
                )
        if fault is not None:
            self.fail(request, fault)
        else:
            self.reply(request, status, json.dumps(answer).encode() if answer is not None else b"", headers)

    def fail(self, request: Any, fault: Fault) -> None:
        """Fail as told."""
        request.close_connection = True
        told = {**fault.headers, "Connection": "close"}
        if fault.kind == "slow":
            self.slow_done.set()
        elif fault.kind == "broken":
            self.reply(request, 200, b'{"id": 1, "bo', told)
        elif fault.kind == "html":
            self.reply(request, 200, b"<html>please log in</html>", told)
        elif isinstance(fault.kind, int):
            self.reply(request, fault.kind, json.dumps({"message": fault.message}).encode(), told)

    def reply(self, request: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        """Send an answer."""
        request.send_response_only(status)
        request.send_header("Date", format_datetime(self.now, usegmt=True))
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    def answer(self, verb: str, path: str, query: dict[str, str], body: Any, token: str) -> tuple[int, Any, Any]:
        """What GitHub would say."""
        login = token.removeprefix("tok_")
        if not token.startswith("tok_"):
            return 401, {"message": "Bad credentials"}, {}
        routes: list[tuple[str, str, Callable[..., tuple[int, Any, Any]]]] = [
            ("GET", r"/user", lambda: (200, {"login": login}, {})),
            ("GET", r"/repos/lead/lab", lambda: (200, self.repo(), {})),
            ("GET", r"/repos/lead/lab/collaborators", lambda: self.page(path, query, [{"login": "lead"}])),
            ("GET", r"/repos/lead/lab/issues", lambda: self.page(path, query, self.all_issues(query))),
            ("POST", r"/repos/lead/lab/issues", lambda: (201, self.new_issue(login, body), {})),
            ("GET", r"/repos/lead/lab/issues/comments", lambda: self.page(path, query, self.listed(query, None))),
            ("GET", r"/repos/lead/lab/issues/(\d+)", lambda n: self.one(self.issues, n)),
            ("PATCH", r"/repos/lead/lab/issues/(\d+)", lambda n: (200, self.change(n, body), {})),
            (
                "GET",
                r"/repos/lead/lab/issues/(\d+)/comments",
                lambda n: self.page(path, query, self.listed(query, n)),
            ),
            (
                "POST",
                r"/repos/lead/lab/issues/(\d+)/comments",
                lambda n: (201, self.new_comment(login, n, body), {}),
            ),
            ("GET", r"/repos/lead/lab/pulls", lambda: self.page(path, query, self.all_pulls(query))),
            ("POST", r"/repos/lead/lab/pulls", lambda: (201, self.new_pull(login, body), {})),
            ("GET", r"/repos/lead/lab/pulls/(\d+)", lambda n: self.one(self.pulls, n)),
            ("PUT", r"/repos/lead/lab/pulls/(\d+)/merge", lambda n: (200, self.merge(n), {})),
        ]
        for method, pattern, route in routes:
            match = re.fullmatch(pattern, path)
            if match and method == verb:
                return route(*map(int, match.groups()))
        return 404, {"message": "Not Found"}, {}

    def page(self, path: str, query: dict[str, str], rows: list[Row]) -> tuple[int, Any, Any]:
        """One page, with the link to the next."""
        per, number = int(query.get("per_page", 30)), int(query.get("page", 1))
        headers = {}
        if number * per < len(rows):
            following = urlencode({**query, "page": number + 1})
            headers["Link"] = f'<https://elsewhere.example/repositories/1{path}?{following}>; rel="next"'
        return 200, rows[(number - 1) * per : number * per], headers

    def one(self, rows: dict[int, Row], number: int) -> tuple[int, Any, Any]:
        """One of them."""
        return (200, rows[number], {}) if number in rows else (404, {"message": "Not Found"}, {})

    # --- what it holds ----------------------------------------------------------------------------------------

    def stamp(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def repo(self) -> Row:
        return {"full_name": self.slug, "default_branch": "main"}

    def ordered(self, rows: list[Row], query: dict[str, str]) -> list[Row]:
        """As a listing's query asks; the newest first unless it does."""
        found = [row for row in rows if row["updated_at"] >= query.get("since", "")]
        key = "updated_at" if query.get("sort") == "updated" else "created_at"
        found.sort(key=lambda row: (row[key], row.get("number") or row["id"]))
        return found if query.get("direction", "desc") == "asc" else found[::-1]

    def all_issues(self, query: dict[str, str]) -> list[Row]:
        wanted = query.get("state", "open")
        return self.ordered([r for r in self.issues.values() if wanted in ("all", r["state"])], query)

    def all_pulls(self, query: dict[str, str]) -> list[Row]:
        return self.ordered(list(self.pulls.values()), query)

    def listed(self, query: dict[str, str], number: int | None) -> list[Row]:
        rows = [row for row in self.comments.values() if number in (None, int(row["issue_url"].rsplit("/")[-1]))]
        return self.ordered(rows, {"direction": "asc", **query})

    def new_issue(self, login: str, body: Row) -> Row:
        number = len(self.issues) + 1
        self.issues[number] = {
            "number": number,
            "url": f"https://api.github.com/repos/{self.slug}/issues/{number}",
            "title": body["title"],
            "body": body.get("body"),
            "user": {"login": login},
            "labels": [{"name": name} for name in body.get("labels") or ()],
            "state": "open",
            "comments": 0,
            "created_at": self.stamp(),
            "updated_at": self.stamp(),
        }
        return self.issues[number]

    def new_comment(self, login: str, number: int, body: Row) -> Row:
        identity = max(self.comments, default=0) + 1
        self.comments[identity] = {
            "id": identity,
            "issue_url": f"https://api.github.com/repos/{self.slug}/issues/{number}",
            "user": {"login": login},
            "body": body["body"],
            "created_at": self.stamp(),
            "updated_at": self.stamp(),
        }
        self.touch(number, 1)
        return self.comments[identity]

    def delete_comment(self, identity: int) -> None:
        row = self.comments.pop(identity)
        self.touch(int(row["issue_url"].rsplit("/")[-1]), -1)

    def touch(self, number: int, comments: int = 0) -> None:
        """Note a change of a thread."""
        self.issues[number]["comments"] += comments
        for rows in (self.issues, self.pulls):
            if number in rows:
                rows[number]["updated_at"] = self.stamp()

    def change(self, number: int, body: Row) -> Row:
        self.issues[number].update(body)
        if body.get("state") == "closed":
            self.issues[number]["closed_at"] = self.stamp()
        self.touch(number)
        return self.issues[number]

    def new_pull(self, login: str, body: Row) -> Row:
        issue = self.new_issue(login, body)
        issue["pull_request"] = {}
        number = issue["number"]
        names = ("number", "title", "body", "user", "state", "created_at", "updated_at")
        self.pulls[number] = {
            **{name: issue[name] for name in names},
            "head": {"ref": body["head"], "sha": "a" * 40, "repo": {"full_name": self.slug}},
            "base": {"ref": body["base"], "sha": "b" * 40},
        }
        return self.pulls[number]

    def push(self, number: int, sha: str) -> None:
        """Move a pull request's head."""
        self.pulls[number]["head"]["sha"] = sha
        self.touch(number)

    def merge(self, number: int) -> Row:
        done = {"merged_at": self.stamp(), "merge_commit_sha": "c" * 40, "state": "closed"}
        self.pulls[number].update(done)
        self.issues[number]["state"] = "closed"
        self.touch(number)
        return {"sha": "c" * 40, "merged": True}
