"""Real git beside a stand-in: it keeps issues and comments, and a bare repository answers what is about branches.

No stand-in speaks git, and what they say of a pull request's head, files and merge is made up. This stands in
front of one: what is about pull requests and refs is answered from the bare repository, the rest is passed on.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import requests

Answer = tuple[int, Any]
GONE = {"message": "Not Found"}
PASSED = ("authorization", "content-type", "accept", "user-agent")


class Refused(Exception):  # noqa: N818 - an answer, not a failure
    """An answer other than success."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class GitSide:
    """A stand-in with git.

    Args:
        upstream: the stand-in's API.
        slug: `owner/name`.
        bare: the bare repository.
        admin: a token that may make branches there.
        options: how `requests` reaches it.
    """

    def __init__(self, upstream: str, slug: str, bare: Path, admin: str, **options: Any) -> None:
        self.upstream = upstream
        self.slug = slug
        self.bare = bare
        self.admin = admin
        self.lock = threading.RLock()
        self.merged: dict[int, dict[str, Any]] = {}
        self.heads: dict[int, str] = {}
        self.session = requests.Session()
        self.session.trust_env = False
        for name, value in options.items():
            setattr(self.session, name, value)
        side = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def handle_any(self) -> None:
                side.handle(self)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any  # noqa: N815

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        """Stop serving."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        self.session.close()

    # --- HTTP -------------------------------------------------------------------------------------------------

    def handle(self, request: Any) -> None:
        """Answer one request; one at a time, as a merge looks and then writes."""
        body = request.rfile.read(int(request.headers.get("content-length") or 0))
        sent = {name: value for name, value in request.headers.items() if name.lower() in PASSED}
        with self.lock:
            passed: dict[str, str] = {}
            try:
                status, data, passed = self.answer(request.command, request.path, body, sent)
            except Refused as refused:
                status, data = refused.status, {"message": str(refused)}
        content = json.dumps(data).encode() if data is not None else b""
        request.send_response(status)
        for name in ("link", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"):
            if name in passed:
                request.send_header(name, passed[name])
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    def send(self, verb: str, path: str, body: Any, sent: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        """Ask the stand-in."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        reply = self.session.request(verb, f"{self.upstream}{path}", data=data, headers=sent, timeout=20)
        headers = {name.lower(): value for name, value in reply.headers.items()}
        return reply.status_code, reply.json() if reply.content else None, headers

    def answer(self, verb: str, path: str, body: bytes, sent: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        """From git what is git's, from the stand-in the rest."""
        base = f"/repos/{self.slug}"
        local, _, _ = path.removeprefix(base).partition("?")
        files = re.fullmatch(r"/pulls/(\d+)/files", local)
        merge = re.fullmatch(r"/pulls/(\d+)/merge", local)
        tree = re.fullmatch(r"/git/trees/(\w+)", local)
        ref = re.fullmatch(r"/git/refs/heads/(.+)", local)
        if verb == "GET" and files:
            return 200, self.files(self.pull(int(files[1]), sent)), {}
        if verb == "GET" and tree:
            return 200, self.tree(tree[1]), {}
        if verb == "PUT" and merge:
            return 200, self.merge(int(merge[1]), json.loads(body or b"{}"), sent), {}
        if verb == "DELETE" and ref:
            self.git("update-ref", "-d", f"refs/heads/{unquote(ref[1])}")
            return 204, None, {}
        if verb == "POST" and local == "/pulls":
            self.check_new(json.loads(body), sent)
        status, data, headers = self.send(verb, path, body or None, sent)
        if status < 300 and re.fullmatch(r"/pulls(/\d+)?", local):
            for row in data if isinstance(data, list) else [data]:
                self.correct(row)
        return status, data, headers

    # --- git --------------------------------------------------------------------------------------------------

    def git(self, *args: str, ok: tuple[int, ...] = (0,)) -> str:
        """Run git in the bare repository."""
        identity = ("-c", "user.name=forge", "-c", "user.email=forge@example.test")
        done = subprocess.run(
            ["git", *identity, *args], cwd=self.bare, capture_output=True, text=True, check=False
        )
        if done.returncode not in ok:
            raise Refused(500, f"git {args[0]}: {done.stderr}")
        return done.stdout.strip()

    def branch(self, name: str) -> str:
        """The commit of a branch; nothing when there is none."""
        return self.git("rev-parse", "--verify", "-q", f"refs/heads/{name}", ok=(0, 1))

    def correct(self, pull: dict[str, Any]) -> None:
        """Put what git knows into what the stand-in says of a pull request."""
        number = pull["number"]
        head = self.branch(pull["head"]["ref"])
        if pull["state"] == "open" and head:
            self.heads[number] = head
            self.git("update-ref", f"refs/pull/{number}/head", head)
        pull["head"]["sha"] = self.heads.get(number, "0" * 40)
        pull["base"]["sha"] = self.branch(pull["base"]["ref"])
        pull.update(mergeable=None, merged_at=None, merge_commit_sha=None, changed_files=None)
        pull.update(self.merged.get(number, {}))

    def pull(self, number: int, sent: dict[str, str]) -> dict[str, Any]:
        """One pull request, corrected."""
        status, data, _ = self.send("GET", f"/repos/{self.slug}/pulls/{number}", None, sent)
        if status >= 300:
            raise Refused(status, data["message"])
        self.correct(data)
        found: dict[str, Any] = data
        return found

    def check_new(self, body: dict[str, Any], sent: dict[str, str]) -> None:
        """Refuse what GitHub refuses, and give the stand-in a branch that it can make a pull request of."""
        head, base = self.branch(body["head"]), self.branch(body["base"])
        if not head or not base:
            raise Refused(422, "Validation Failed: head or base is invalid")
        if not self.git("rev-list", "-n1", f"{base}..{head}"):
            raise Refused(422, f"No commits between {body['base']} and {body['head']}")
        _, pulls, _ = self.send("GET", f"/repos/{self.slug}/pulls?state=open&per_page=100", None, sent)
        if any((row["head"]["ref"], row["base"]["ref"]) == (body["head"], body["base"]) for row in pulls):
            raise Refused(422, f"A pull request already exists for {body['head']}.")
        admin = {"Authorization": f"token {self.admin}", "Content-Type": "application/json"}
        _, ref, _ = self.send("GET", f"/repos/{self.slug}/git/ref/heads/{body['base']}", None, admin)
        new = {"ref": f"refs/heads/{body['head']}", "sha": ref["object"]["sha"]}
        self.send("POST", f"/repos/{self.slug}/git/refs", new, admin)
        file = {"message": "stands for git", "content": "eA==", "branch": body["head"]}
        self.send("PUT", f"/repos/{self.slug}/contents/{head}", file, admin)

    def files(self, pull: dict[str, Any]) -> list[dict[str, Any]]:
        """The files that a pull request changes, as GitHub lists them."""
        base = pull.get("base_before") or pull["base"]["sha"]
        words = {"A": "added", "D": "removed", "R": "renamed"}
        rows = self.git("diff", "--name-status", "-M", f"{base}...{pull['head']['sha']}").splitlines()
        found = []
        for letter, *names in (row.split("\t") for row in rows):
            row = {"filename": names[-1], "status": words.get(letter[0], "modified")}
            found.append({**row, "previous_filename": names[0]} if letter[0] == "R" else row)
        return found

    def tree(self, sha: str) -> dict[str, Any]:
        """All files of a commit with their modes."""
        rows = (row.split("\t") for row in self.git("ls-tree", "-r", sha).splitlines())
        return {"truncated": False, "tree": [{"mode": facts.split()[0], "path": path} for facts, path in rows]}

    def merge(self, number: int, body: dict[str, Any], sent: dict[str, str]) -> dict[str, Any]:
        """Merge with git, and close the pull request at the stand-in."""
        pull = self.pull(number, sent)
        head, base = pull["head"]["sha"], pull["base"]["sha"]
        if pull["state"] != "open":
            raise Refused(405, "Pull Request is not mergeable")
        if body.get("sha") not in (None, head):
            raise Refused(409, "Head branch was modified. Review and try the merge again.")
        tree = self.git("merge-tree", "--write-tree", "--name-only", base, head, ok=(0, 1)).splitlines()
        if len(tree) > 1:
            raise Refused(405, "Pull Request is not mergeable")
        message = f"Merge pull request #{number}\n\n{body.get('commit_message', '')}"
        commit = self.git("commit-tree", tree[0], "-p", base, "-p", head, "-m", message)
        self.git("update-ref", f"refs/heads/{pull['base']['ref']}", commit, base)
        status, closed, _ = self.send("PATCH", f"/repos/{self.slug}/pulls/{number}", {"state": "closed"}, sent)
        if status >= 300:
            raise Refused(status, closed["message"])
        self.merged[number] = {
            "merged_at": closed["closed_at"] or closed["updated_at"],
            "merge_commit_sha": commit,
            "base_before": base,
        }
        return {"sha": commit, "merged": True}
