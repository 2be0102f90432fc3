"""The keep rule: what a candidate's score says against the bar.

The rules are tried in order and the first that speaks decides, so another kind of evidence is another rule.
Numbers are compared as the decimals that the evaluator printed: a guardrail that fell from 0.8 to 0.7 has fallen
by its margin of 0.1, not by a little more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import msgspec

from herdr.contract.words import Direction, MetricRole, VerdictCause, VerdictRule, VerdictWord


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A configured metric. A guardrail may fall below the bar by `margin`, and never past `floor`."""

    name: str
    direction: Direction
    role: MetricRole = "watch"
    margin: float = 0.0
    floor: float | None = None


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """What a measurement gave; `error` says why it is none."""

    metrics: Mapping[str, float]
    error: str | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict, the rule that decided, and why, with its numbers; `cause` is set when it was not the numbers."""

    verdict: VerdictWord
    rule: VerdictRule
    reason: str
    cause: VerdictCause | None = None


class _Case(msgspec.Struct, frozen=True, kw_only=True):
    metrics: Sequence[Metric]
    candidate: Scored
    bar: Mapping[str, float]
    protected: Sequence[str]

    @property
    def primary(self) -> Metric:
        return next(metric for metric in self.metrics if metric.role == "primary")

    @property
    def guardrails(self) -> list[Metric]:
        return [metric for metric in self.metrics if metric.role == "guardrail"]

    def gain(self, metric: Metric) -> Decimal:
        """By how much the candidate is better than the bar; negative when it is worse."""
        return _better_by(metric, self.candidate.metrics[metric.name], self.bar[metric.name])


def judge(
    metrics: Sequence[Metric],
    candidate: Scored,
    bar: Mapping[str, float] | None,
    *,
    protected: Sequence[str] = (),
    note: str | None = None,
) -> Verdict:
    """Judge a measured candidate.

    Args:
        metrics: every configured metric, one of them the primary.
        candidate: its measurement, made with the evaluator's own protected files.
        bar: the metrics of the keep that it must beat; None when that has no score.
        protected: the protected files that the candidate changed. It is never a keep then, whatever it scored.
        note: what its `Piloop-Note` trailer says: a regression that is worth starting from.
    """
    comparable = {name: value for name, value in (bar or {}).items() if math.isfinite(value)}
    case = _Case(metrics=metrics, candidate=candidate, bar=comparable, protected=protected)
    verdict = next(verdict for rule in _RULES if (verdict := rule(case)) is not None)
    if note and verdict.verdict == "discard" and verdict.rule != "protected":
        reason = f"{note} ({verdict.reason})"
        return Verdict(verdict="interesting", rule=verdict.rule, reason=reason, cause="note")
    return verdict


def _no_score(case: _Case) -> Verdict | None:
    if case.candidate.error is not None:
        return Verdict(verdict="crash", rule="error", reason=case.candidate.error)
    for metric in case.metrics:
        value = case.candidate.metrics.get(metric.name)
        if value is None:
            return Verdict(verdict="crash", rule="missing", reason=f"the evaluator printed no {metric.name}")
        if not math.isfinite(value):
            return Verdict(verdict="crash", rule="not_finite", reason=f"{metric.name} is {value}")
    return None


def _protected_files(case: _Case) -> Verdict | None:
    if not case.protected:
        return None
    score = f"{case.primary.name} {_number(case.candidate.metrics[case.primary.name])}"
    reason = f"changed protected {', '.join(case.protected)}; with the evaluator's own files it scores {score}"
    return Verdict(verdict="discard", rule="protected", reason=reason, cause="protected")


def _past_floor(case: _Case) -> Verdict | None:
    for metric in case.guardrails:
        value = case.candidate.metrics[metric.name]
        if metric.floor is not None and _better_by(metric, value, metric.floor) < 0:
            shown, floor = _apart(value, metric.floor)
            reason = f"guardrail {metric.name} {shown} is past its floor of {floor}"
            return Verdict(verdict="discard", rule="floor", reason=reason)
    return None


def _no_bar(case: _Case) -> Verdict | None:
    name = case.primary.name
    if name in case.bar:
        return None
    reason = f"{name} {_number(case.candidate.metrics[name])}, and the bar has no score to beat"
    return Verdict(verdict="keep", rule="no_bar", reason=reason)


def _no_gain(case: _Case) -> Verdict | None:
    gain = case.gain(case.primary)
    if gain > 0:
        return None
    if gain == 0 and all(metric.name in case.bar and case.gain(metric) == 0 for metric in case.guardrails):
        name = case.primary.name
        reason = f"no change: {name} is {_number(case.bar[name])}, exactly as at the bar"
        return Verdict(verdict="discard", rule="no_change", reason=reason)
    return Verdict(verdict="discard", rule="no_gain", reason=_compared(case, case.primary))


def _past_margin(case: _Case) -> Verdict | None:
    for metric in case.guardrails:
        if metric.name not in case.bar:
            reason = f"{_compared(case, case.primary)}, but the bar has no {metric.name} to compare with"
            return Verdict(verdict="interesting", rule="margin", reason=reason)
        if case.gain(metric) < -_decimal(metric.margin):
            worse = f"guardrail {_compared(case, metric)}, more than its margin of {_number(metric.margin)}"
            reason = f"{_compared(case, case.primary)}, but {worse}"
            return Verdict(verdict="interesting", rule="margin", reason=reason)
    return None


def _gain(case: _Case) -> Verdict:
    return Verdict(verdict="keep", rule="gain", reason=_compared(case, case.primary))


_RULES: tuple[Callable[[_Case], Verdict | None], ...] = (
    _no_score,
    _protected_files,
    _past_floor,
    _no_bar,
    _no_gain,
    _past_margin,
    _gain,
)


def _better_by(metric: Metric, value: float, other: float) -> Decimal:
    difference = _decimal(value) - _decimal(other)
    return difference if metric.direction == "higher" else -difference


def _decimal(value: float) -> Decimal:
    return Decimal(repr(float(value)))


def _compared(case: _Case, metric: Metric) -> str:
    """`length 7812.4 beats the bar's 8011.9 by 199.5 (2.49 %)`."""
    gain = case.gain(metric)
    value, bar = _apart(case.candidate.metrics[metric.name], case.bar[metric.name])
    if gain > 0:
        words = "beats the bar's"
    elif gain < 0:
        words = "is worse than the bar's"
    else:
        return f"{metric.name} {value} only equals the bar"
    base = abs(_decimal(case.bar[metric.name]))
    share = f" ({_number(float(abs(gain) / base * 100), 3)} %)" if base else ""
    return f"{metric.name} {value} {words} {bar} by {_number(float(abs(gain)), 4)}{share}"


def _apart(value: float, other: float) -> tuple[str, str]:
    """Both numbers, with more digits only where they would look equal and are not."""
    for digits in (6, 9, 12, 17):
        shown = _number(value, digits), _number(other, digits)
        if shown[0] != shown[1] or value == other:
            break
    return shown


def _number(value: float, digits: int = 6) -> str:
    text = f"{value:.{digits}g}"
    # Sizes and counts are read to the last digit.
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e15 else text
