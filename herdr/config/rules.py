"""Rules about several keys together, for data whose single values were checked; `BAD` stands for wrong ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from herdr.config.mistakes import Mistake, at_key, show
from herdr.config.shape import BAD, did_you_mean

Data = dict[str, Any]


def broken_rules(config: Data) -> Iterator[Mistake]:
    """Every mistake that only shows when keys are seen together."""
    for rule in (metrics, primaries, tracks, links, spend, mcp_servers, role_servers, plugins):
        yield from rule(config)


def part(config: Data, *keys: str) -> Any:
    """A table inside the data; empty where it is missing or not a table.

    Args:
        config: the data of the whole file.
        keys: the path of the table.
    """
    for key in keys:
        config = config.get(key, {})
        if not isinstance(config, dict):
            return {}
    return config


def metric_tables(config: Data) -> list[Data]:
    """The metrics, an empty table where one is not a table; none where the list itself is wrong."""
    listed = config.get("metrics")
    return (
        [item if isinstance(item, dict) else {"role": BAD} for item in listed] if isinstance(listed, list) else []
    )


def metrics(config: Data) -> Iterator[Mistake]:
    """Names are distinct, and a guardrail says how much worse it may get."""
    seen: set[Any] = set()
    for i, metric in enumerate(metric_tables(config)):
        name = metric.get("name", BAD)
        if name is not BAD and name in seen:
            path = f"metrics[{i}].name"
            yield Mistake(path, "an earlier metric has this name", "give each metric its own name", show(name))
        seen.add(name)
        if metric.get("role") == "guardrail" and "margin" not in metric:
            yield Mistake(
                f"metrics[{i}].margin", "missing: a guardrail needs it", "add how much worse it may get"
            )


def primaries(config: Data) -> Iterator[Mistake]:
    """One primary metric; or several, each with a track and a margin, because each guards the others."""
    listed = metric_tables(config)
    roles = [metric.get("role", "watch") for metric in listed]
    if listed and "primary" not in roles and BAD not in roles:
        yield Mistake("metrics", "none of them is primary", 'set role = "primary" on the metric to improve')
    if roles.count("primary") < 2:
        return
    for i, metric in enumerate(listed):
        if metric.get("role") != "primary":
            continue
        for key, fix in (
            ("track", "name one of [tracks]"),
            ("margin", "add how much worse other tracks may make it"),
        ):
            if key not in metric:
                yield Mistake(f"metrics[{i}].{key}", "missing: one of several primary metrics needs it", fix)


def tracks(config: Data) -> Iterator[Mistake]:
    """Tracks belong to several primaries, one to each, and divide the slots between them."""
    known, listed = config.get("tracks", {}), metric_tables(config)
    if known is BAD:
        return
    roles = [metric.get("role", "watch") for metric in listed]
    owners = Counter(m["track"] for m in listed if m.get("role") == "primary" and m.get("track", BAD) is not BAD)
    for i, metric in enumerate(listed):
        track = metric.get("track", BAD)
        if track is not BAD and track not in known:
            fix = did_you_mean(track, known) if known else f"add [{at_key('tracks', track)}]"
            yield Mistake(f"metrics[{i}].track", "no such track", fix, show(track))
    if not known:
        return
    if listed and BAD not in roles and roles.count("primary") < 2:
        yield Mistake("tracks", "only for several primary metrics", "remove [tracks], or add a primary metric")
        return
    for name in known:
        if owners[name] > 1:
            yield Mistake(at_key("tracks", name), "has several primary metrics", "give each a track of its own")
        if listed and not owners[name] and BAD not in roles:
            yield Mistake(at_key("tracks", name), "has no primary metric", "remove it, or name it in a metric")
    yield from shares(known)
    if "target" in part(config, "stop"):
        problem = "cannot be used with tracks: it would be of one metric only"
        yield Mistake("stop.target", problem, "remove it, or stop by max_runs", show(config["stop"]["target"]))


def shares(known: Data) -> Iterator[Mistake]:
    """The shares of all tracks make a whole."""
    given = [track.get("share", 1.0) if isinstance(track, dict) else BAD for track in known.values()]
    if BAD not in given and not math.isclose(sum(given), 1.0, abs_tol=1e-6):
        yield Mistake("tracks", f"the shares sum to {sum(given):g}, not 1", "set each track's share")


def links(config: Data) -> Iterator[Mistake]:
    """A path is linked once, and none lies inside another, of which every worktree gets a view as a whole."""
    listed = config.get("link", [])
    seen: list[PurePosixPath] = []
    for i, item in enumerate([] if listed is BAD else listed):
        named = item.get("path", BAD) if isinstance(item, dict) else item
        if named is BAD:
            continue
        path = PurePosixPath(named)
        inside = next((one for one in seen if path.is_relative_to(one) or one.is_relative_to(path)), None)
        if inside is not None:
            problem = "named twice" if inside == path else f"{inside} is linked too, and one is inside the other"
            yield Mistake(f"link[{i}]", problem, "name it once, or the folders beside each other", show(named))
        seen.append(path)


def spend(config: Data) -> Iterator[Mistake]:
    """A notice comes before the limit."""
    table = part(config, "spend")
    limit, notices = table.get("limit", BAD), table.get("notices", [])
    if limit is BAD or notices is BAD:
        return
    for i, notice in enumerate(notices):
        if notice is not BAD and notice >= limit:
            fix = f"use an amount below {limit:g}"
            yield Mistake(f"spend.notices[{i}]", "not below spend.limit", fix, show(notice))


def mcp_servers(config: Data) -> Iterator[Mistake]:
    """A server is reached by a URL or started by a command."""
    needs = {"headers_env": "url", "bearer_token_env": "url", "env": "command"}
    for name, table in part(config, "mcp").items():
        if table is BAD:
            continue
        path = at_key("mcp", name)
        if ("url" in table) == ("command" in table):
            both = "url" in table
            yield Mistake(
                path, "has both url and command" if both else "has no url and no command", "give one of them"
            )
            continue
        for key, other in needs.items():
            if key in table and other not in table:
                yield Mistake(at_key(path, key), f"only for a server with {other}", "remove it")


def role_servers(config: Data) -> Iterator[Mistake]:
    """A role names servers that the file defines."""
    known = config.get("mcp", {})
    for role, table in part(config, "roles").items():
        listed = table.get("mcp", []) if isinstance(table, dict) and known is not BAD else BAD
        for i, name in enumerate([] if listed is BAD else listed):
            if name is not BAD and name not in known:
                fix = did_you_mean(name, known) if known else f"add [{at_key('mcp', name)}]"
                yield Mistake(f"roles.{role}.mcp[{i}]", "no such MCP server", fix, show(name))


def plugins(config: Data) -> Iterator[Mistake]:
    """`[plugins]` holds the list `block`, and otherwise one table for each plugin."""
    for name, value in part(config, "plugins").items():
        path = at_key("plugins", name)
        if value is BAD:
            continue
        if name != "block":
            if not isinstance(value, dict):
                yield Mistake(path, "not a table", f"put a plugin's settings below [{path}]", show(value))
        elif not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            yield Mistake(path, "not a list of plugin names", 'write it as in ["notify"]', show(value))
