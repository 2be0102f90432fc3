"""`polyresearch pace`: what this node may do, beside what it did."""

from __future__ import annotations

import math
from typing import Any

import click
import msgspec

from herdr_polyresearch.commands.machine import Budget, Hardware, budget, look
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.project import Project, now
from herdr_polyresearch.forge.base import RateStatus
from herdr_polyresearch.protocol.pace import Quota, Throughput, quota, throughput


@command()
def pace() -> None:
    """Print the resource policy and the hardware budget of this node beside what it did of late.

    The exit status is 75 when the forge's quota is not enough for one more command.
    """
    project = Project()
    node, state = project.node, project.state
    done = throughput(state, node.node_id)
    rate = project.forge.rate_status()
    reach = None
    if rate.remaining is not None:
        reach = quota(len(state.theses), len(project.snapshot.pulls), rate.remaining)
    hardware = look()
    share = budget(hardware, node.capacity)
    said = ["Resource policy:", f"  {node.policy}", *_hardware_lines(hardware, share)]
    said += _quota_lines(node.api_budget, rate, reach, len(state.theses), len(project.snapshot.pulls))
    said += _throughput_lines(done)
    data = {
        "repo": state.repo.full_name,
        "node_id": node.node_id,
        "capacity": node.capacity,
        "hardware": hardware,
        "budget": share,
        "api_budget": node.api_budget,
        "rate_limit": _rate_json(project, rate, reach),
        "attempts_last_hour": done.attempts_last_hour,
        "attempts_last_4_hours": done.attempts_last_4_hours,
        "idle_minutes": done.idle_minutes,
        "claimable_theses": done.claimable_theses,
        "active_claims": done.active_claims,
        "resource_policy": node.policy,
    }
    tell(project, data, "\n".join(said))
    if reach and reach.exit_code:
        click.echo(f"RATE LIMITED: {_until(rate)} before continuing.", err=True)
        click.get_current_context().exit(reach.exit_code)


def _rate_json(project: Project, rate: RateStatus, reach: Quota | None) -> dict[str, Any] | None:
    if reach is None:
        return None
    return {
        "configured_budget": project.node.api_budget,
        "limit": rate.limit,
        "remaining": rate.remaining,
        "used": None if rate.limit is None or rate.remaining is None else rate.limit - rate.remaining,
        "resets_at": rate.resets_at,
        "issue_count": len(project.state.theses),
        "pull_request_count": len(project.snapshot.pulls),
        **{name: value for name, value in msgspec.structs.asdict(reach).items() if name != "exit_code"},
    }


def _hardware_lines(hardware: Hardware, share: Budget) -> list[str]:
    cards = ", ".join(gpu.name for gpu in hardware.gpus) or "none"
    cores = f"{hardware.physical_cores} cores ({hardware.logical_cores} logical)"
    return [
        "Hardware budget:",
        f"  Machine: {cores}, {hardware.total_memory_gb} GiB, GPUs: {cards} ({hardware.platform})",
        f"  Your max: {share.cores} cores, {share.memory_gb} GiB, {share.gpus} GPUs ({share.capacity_pct}%)",
        f"  Live free: {hardware.available_memory_gb} GiB, load {hardware.load_avg_1m}",
    ]


def _quota_lines(configured: int, rate: RateStatus, reach: Quota | None, issues: int, pulls: int) -> list[str]:
    said = ["API budget:", f"  Configured budget: {configured}/hr"]
    if reach is None:
        return [*said, "  This forge has no quota."]
    return [
        *said,
        f"  GitHub core limit: {rate.limit}/hr",
        f"  Remaining quota: {rate.remaining}",
        f"  Resets: {_until(rate)}",
        f"  Cost per command: at most {reach.derive_cost} calls ({issues} issues + {pulls} PRs + 2 lists)",
        f"  Commands left: ~{reach.commands_left}",
        f"  Near limit: {'yes' if reach.is_low else 'no'}",
    ]


def _throughput_lines(done: Throughput) -> list[str]:
    return [
        "Throughput (node):",
        f"  Active claims: {done.active_claims}",
        f"  Attempts last hour: {done.attempts_last_hour}",
        f"  Attempts last 4 hours: {done.attempts_last_4_hours}",
        f"  Minutes since last activity: {'n/a' if done.idle_minutes is None else done.idle_minutes}",
        f"  Claimable theses idle: {done.claimable_theses}",
    ]


def _until(rate: RateStatus) -> str:
    if rate.resets_at is None:
        return "wait until the quota is reset"
    minutes = max(0, math.ceil((rate.resets_at - now()).total_seconds() / 60))
    return f"wait about {minutes} minutes, until {rate.resets_at:%Y-%m-%dT%H:%M:%SZ},"
