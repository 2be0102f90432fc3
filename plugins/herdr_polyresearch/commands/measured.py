"""Metrics as they are typed: finite numbers, means of runs, and what does not fit the observation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import click

from herdr_polyresearch.commands.project import warn
from herdr_polyresearch.protocol.decide import exceeds
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.scalars import mean, read_float, show_metric, trim
from herdr_polyresearch.protocol.words import FAILED, Observation


def finite(text: str) -> float:
    """Read a metric as it was typed.

    Raises:
        click.BadParameter: it is no number as the protocol's readers read one, or not a finite one.
    """
    number = read_float(trim(text))
    if number is None:
        raise click.BadParameter(f"{text!r} is not a number")
    if not math.isfinite(number):
        raise click.BadParameter(f"{text!r} is not a finite number; what cannot be measured is `crashed`")
    return number


def mean_of(metric: float | None, runs: Sequence[float], observation: Observation) -> float:
    """Return the metric of an experiment: the one given, or the mean of its runs; 0 for what has none.

    Args:
        metric: what was typed as the metric, if anything was.
        runs: what was typed as single measurements.
        observation: what was made of it.

    Raises:
        click.UsageError: there is none although something was measured, or it is not the mean of the runs.
    """
    if runs:
        found = mean(runs)
        if metric is not None and show_metric(metric) != show_metric(found):
            raise click.UsageError(f"--metric {metric!r} is not the mean of the runs, {found!r}: leave it out")
        return found
    if metric is None and observation not in FAILED:
        raise click.UsageError(f"--metric is needed for the observation {observation}")
    return metric or 0.0


def check_measured(
    program: Program, metric: float, baseline: float, observation: Observation, *, several: bool = False
) -> None:
    """Say where an observation does not fit its numbers; whoever measured decides all the same.

    Args:
        program: it knows direction and tolerance.
        metric: what was measured.
        baseline: what it was held against.
        observation: what was made of it.
        several: whether the metric is a mean of three runs or more, which may be improved within the tolerance.
    """
    if observation in FAILED:
        return
    better = program.is_better(metric, baseline)
    tolerance = program.metric_tolerance
    beyond = better and (
        tolerance is None or exceeds(max(metric, baseline), min(metric, baseline), tolerance) > 0
    )
    if observation == "improved" and not better:
        warn(f"observation improved, but {metric!r} is not better than {baseline!r} ({program.metric_direction})")
    elif observation == "improved" and not beyond and not several:
        warn(f"observation improved, but the gain is within metric_tolerance {tolerance}")
    elif observation == "no_improvement" and beyond:
        warn(f"observation no_improvement, but {metric!r} beats {baseline!r} by more than metric_tolerance")
