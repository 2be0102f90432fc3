"""Requests to a GitHub, by PyGithub with its retries and pauses off: what failed, and what may be repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from types import GenericAlias
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec
import requests
from github import Auth, Github, GithubException
from urllib3.exceptions import NewConnectionError

from herdr_polyresearch.forge.base import (
    AccessError,
    ConflictError,
    ForgeError,
    MissingError,
    QuotaError,
    RejectedError,
    StaleHeadError,
    UnreachableError,
)
from herdr_polyresearch.forge.waiting import Clock, spell

PAGE = 100
TIMEOUT = 20
#: Seconds before a failed read is repeated.
READ_RETRIES = (1.0, 3.0, 9.0)
#: Seconds to wait when GitHub does not say how long: its documentation asks for a minute, then longer.
SECONDARY_WAIT = 60.0
RATE_LIMIT_ROUNDS = 4
#: What GitHub says instead of doing a write to a repository that was renamed.
MOVED = "Moved Permanently"

Params = Mapping[str, str | int]
T = TypeVar("T")


class LimitedError(Exception):
    """GitHub refused a request because of a rate limit: surely not done, to be repeated after `wait` seconds."""

    def __init__(self, kind: str, wait: float | None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.wait = wait


class UnclearError(Exception):
    """No usable answer. `sent` is False when the request certainly never reached the server."""

    def __init__(self, why: str, *, sent: bool = True) -> None:
        super().__init__(why)
        self.sent = sent


class Quota(msgspec.Struct, frozen=True):
    """What the last answer said of the primary limit: requests an hour, left, and when it starts anew (epoch)."""

    limit: int
    remaining: int
    resets_at: int


class Rest:
    """Requests of one login to one host.

    Args:
        api: the root of the REST API.
        token: who asks.
        clock: how to wait.
        timeout: seconds until a silent server counts as gone.
    """

    def __init__(self, api: str, token: str, *, clock: Clock, timeout: int = TIMEOUT) -> None:
        self.host = urlsplit(api).netloc
        self.clock = clock
        self.count = 0
        self.quota: Quota | None = None
        self._date: str | None = None
        self._github = Github(
            base_url=api,
            auth=Auth.Token(token),
            timeout=timeout,
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
            user_agent="herdr-polyresearch",
        )

    def close(self) -> None:
        """Close the connections."""
        self._github.close()

    def attempt(
        self, verb: str, path: str, params: Params | None = None, payload: Any = None
    ) -> tuple[Params, Any]:
        """Send one request once; gives headers and data.

        Args:
            verb: such as GET.
            path: below the root of the API.
            params: the query.
            payload: what is sent as JSON.

        Raises:
            LimitedError: a rate limit, either kind.
            UnclearError: a server error, no answer, or one that cannot be read.
            ForgeError: a refusal, in words.
        """
        self.count += 1
        try:
            headers, data = self._github.requester.requestJsonAndCheck(
                verb, path, dict(params or {}), input=payload
            )
        except GithubException as error:
            self._note(error.headers or {})
            raise self._sort(error, verb, path) from error
        except requests.RequestException as error:
            raise UnclearError(why_no_answer(error), sent=was_sent(error)) from error
        except ValueError as error:
            raise UnclearError("its answer is not JSON") from error
        self._note(headers)
        if isinstance(data, dict) and data.get("message") == MOVED:
            raise MissingError(
                f"{self.host}: the repository of {path} has moved",
                fix="look where it is now, then git remote set-url origin URL, or give --repo owner/name",
            )
        return headers, data

    def get(self, path: str, shape: type[T], params: Params | None = None) -> T:
        """Read once something of this shape; repeated while there is hope.

        Args:
            path: below the root of the API.
            shape: what a good answer looks like.
            params: the query.

        Raises:
            ForgeError: a refusal, a limit that lasts too long, or a server that stays silent.
        """
        found: T = self._read(path, shape, params)[1]
        return found

    def pages(self, path: str, item: type[T], params: Params | None = None) -> Iterator[list[T]]:
        """Read all pages of a listing, one list each.

        Args:
            path: below the root of the API.
            item: what one row looks like.
            params: the query.

        Raises:
            ForgeError: as `get`.
        """
        query: Params | None = {**(params or {}), "per_page": PAGE}
        while query is not None:
            headers, rows = self._read(path, GenericAlias(list, (item,)), query)
            yield rows
            query = next_page(str(headers.get("link") or ""))

    def server_time(self) -> datetime | None:
        """The server's clock, as its last answer showed it; None when it did not."""
        try:
            return parsedate_to_datetime(self._date or "").astimezone(timezone.utc)
        except ValueError:
            return None

    def _read(self, path: str, shape: Any, params: Params | None) -> tuple[Params, Any]:
        """One GET, repeated after failures that a repetition can mend."""
        limited = 0
        for pause in (*READ_RETRIES, None):
            while True:
                try:
                    headers, data = self.attempt("GET", path, params)
                    return headers, msgspec.convert(data, shape)
                except LimitedError as error:
                    limited += 1
                    self.clock.pause(self.limit_wait(error, limited), f"{self.host}: {error.kind}")
                    continue
                except UnclearError as error:
                    reason = str(error)
                except msgspec.ValidationError as error:
                    reason = f"its answer is not what GitHub sends ({error})"
                break
            if pause is None:
                break
            self.clock.pause(pause, f"{self.host}: {reason}")
        raise UnreachableError(
            f"cannot read from {self.host}: {reason} (tried {len(READ_RETRIES) + 1} times)",
            fix="nothing was changed: check the network and https://www.githubstatus.com, then run it again",
        )

    def limit_wait(self, error: LimitedError, times: int) -> float:
        """Seconds to wait for a limit that was hit `times` times in a row.

        Args:
            error: what GitHub said.
            times: how often in a row.

        Raises:
            QuotaError: it takes longer than we wait, or comes again and again.
        """
        wait = error.wait if error.wait is not None else SECONDARY_WAIT * 2 ** (times - 1)
        if wait > self.clock.max_wait or times > RATE_LIMIT_ROUNDS:
            raise QuotaError(
                f"{self.host}: {error.kind}; it ends in {spell(wait)}, at {self.clock.at(wait)}",
                resets_at=datetime.fromtimestamp(self.clock.now() + wait, timezone.utc),
                fix=f"nothing was posted by this request: run it again in {spell(wait)}",
            )
        return wait

    def _note(self, headers: Mapping[str, Any]) -> None:
        """Remember what an answer said of the quota and of the server's clock."""
        self._date = headers.get("date") or self._date
        try:
            self.quota = Quota(
                int(headers["x-ratelimit-limit"]),
                int(headers["x-ratelimit-remaining"]),
                int(headers["x-ratelimit-reset"]),
            )
        except (KeyError, ValueError):
            return

    def _sort(self, error: GithubException, verb: str, path: str) -> Exception:
        """What a status means for whoever asked."""
        headers, message = error.headers or {}, said(error)
        limited = error.status == 429 or (error.status == 403 and is_limit(headers, message))
        if limited:
            return LimitedError(*self._limit(headers))
        if error.status >= 500:
            return UnclearError(f"it answered {error.status}")
        where = f"{self.host} ({verb} {path})"
        if error.status == 401:
            return AccessError(
                f"{self.host} does not accept the token: {message}",
                fix=f"gh auth login --hostname {self.host.removeprefix('api.')}, or set a valid GITHUB_TOKEN",
            )
        if error.status == 403:
            return AccessError(
                f"{where} refuses: {message}",
                fix="ask a maintainer for write access, or use a token with the `repo` scope",
            )
        if error.status in (404, 410):
            return MissingError(
                f"{where} says: {message}",
                fix="check --repo and the number, and that the token may see this repository",
            )
        kind = {405: ConflictError, 409: StaleHeadError, 422: RejectedError}.get(error.status, ForgeError)
        return kind(
            f"{where} answered {error.status}: {message}", fix="see what it says, and `polyresearch status`"
        )

    def _limit(self, headers: Mapping[str, Any]) -> tuple[str, float | None]:
        """Name a rate limit, and how long it lasts as far as it says."""
        after = str(headers.get("retry-after") or "")
        if after.isdigit():
            return "a rate limit", float(after)
        if str(headers.get("x-ratelimit-remaining")) == "0" and self.quota is not None:
            return "the hourly rate limit is used up", max(1.0, self.quota.resets_at - self.clock.now() + 1)
        return "its limit for many requests at once", None


def is_limit(headers: Mapping[str, Any], message: str) -> bool:
    """Whether a 403 is a rate limit, not a refusal.

    Args:
        headers: those of the answer.
        message: what it says.
    """
    words = message.lower()
    return "retry-after" in headers or str(headers.get("x-ratelimit-remaining")) == "0" or (
        "rate limit" in words or "abuse detection" in words or "wait a few minutes" in words
    )  # fmt: skip


def said(error: GithubException) -> str:
    """GitHub's own words for a failure, with the detail of a 422."""
    data = error.data if isinstance(error.data, dict) else {}
    message = str(data.get("message") or error.message or "no reason given")
    details = [detail(row) for row in data.get("errors") or ()]
    return f"{message} ({'; '.join(details)})" if details else message


def detail(row: Any) -> str:
    """One line of a validation error."""
    if not isinstance(row, dict):
        return str(row)
    return str(row.get("message") or f"{row.get('field')} {row.get('code')}")


def why_no_answer(error: requests.RequestException) -> str:
    """A broken connection in a few words."""
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not accepted"
    if isinstance(error, requests.exceptions.Timeout):
        return "no answer in time"
    if not was_sent(error):
        return "no connection"
    return "the connection broke"


def was_sent(error: requests.RequestException) -> bool:
    """False when the connection was never made, so that nothing can have happened."""
    if isinstance(error, requests.exceptions.SSLError | requests.exceptions.ConnectTimeout):
        return False
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return not isinstance(reason, NewConnectionError)


def next_page(link: str) -> Params | None:
    """The query of a listing's next page, from the `Link` header; None on the last.

    Only the query is taken: the URL may name the repository by its number, or another host's name.
    """
    for part in link.split(","):
        url, _, rel = part.partition(";")
        if 'rel="next"' in rel:
            return dict(parse_qsl(urlsplit(url.strip(" <>")).query, keep_blank_values=True))
    return None
