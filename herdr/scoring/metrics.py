"""Reading the numbers that an evaluate command gives: `METRIC name=value` lines, or a JSON file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping

from herdr.errors import HerdrError

LINE = re.compile(r"^METRIC[ \t]+([^\s=]+)[ \t]*=[ \t]*(\S+)[ \t]*$", re.MULTILINE)


class BadMetricsError(HerdrError):
    """What the command printed is no score. `metrics` holds the values that could be read all the same."""

    def __init__(self, message: str, metrics: Mapping[str, float]) -> None:
        super().__init__(message)
        self.metrics = dict(metrics)


def read_metrics(output: str, document: str | None, wanted: Iterable[str]) -> dict[str, float]:
    """Read the score of one evaluation.

    A metric that is given twice with different values, is missing, or is not a finite number makes the whole
    evaluation a crash: half a score is no score.

    Args:
        output: what the command printed on standard output, or those lines of it that begin with METRIC.
        document: the content of `$PILOOP_METRICS_FILE`, a JSON object, or None when it was not written.
        wanted: the names that must be there.

    Returns:
        Every metric that was given, also those not asked for.

    Raises:
        BadMetricsError: what is wrong, naming the metric.
    """
    found: dict[str, float] = {}
    given = [*_from_output(output), *_from_document(document, found)]
    for name, text in given:
        value = _number(text)
        if value is None or not math.isfinite(value):
            raise BadMetricsError(f"metric {name:.80} is not a finite number: {_shown(text)}", found)
        if name in found and found[name] != value:
            raise BadMetricsError(f"metric {name:.80} was given twice: {found[name]:g} and {value:g}", found)
        found[name] = value
    missing = [name for name in wanted if name not in found]
    if missing:
        raise BadMetricsError(f"the evaluate command gave no metric {', '.join(missing)}", found)
    return found


def _from_output(output: str) -> list[tuple[str, object]]:
    return [(match[1], match[2]) for match in LINE.finditer(output.replace("\r\n", "\n"))]


def _from_document(document: str | None, found: Mapping[str, float]) -> list[tuple[str, object]]:
    if document is None or not document.strip():
        return []
    try:
        content = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise BadMetricsError(f"$PILOOP_METRICS_FILE is not JSON: {error}", found) from error
    if not isinstance(content, dict):
        raise BadMetricsError("$PILOOP_METRICS_FILE must hold a JSON object of metric names and numbers", found)
    return [(_storable(name), value) for name, value in content.items()]


def _storable(text: str) -> str:
    """JSON can spell halves of characters, which nothing can store."""
    return text.encode("utf-8", "replace").decode()


def _shown(value: object) -> str:
    try:
        return _storable(f"{value!s:.80}")
    except ValueError:
        return "a number of thousands of digits"


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float, str)):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return None
    return None
