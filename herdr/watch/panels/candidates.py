"""The candidates, the newest first, under a line of what the latest heads scored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from textual.content import Content

from herdr.campaign.text import first_line
from herdr.contract.words import VerdictWord
from herdr.ops.candidate.reading import CandidateList, ListCandidates, ShowCandidate
from herdr.ops.views import CandidateView
from herdr.printing.things import verdict_of
from herdr.printing.values import number, percent
from herdr.watch.feed import Feed
from herdr.watch.page import Page
from herdr.watch.panel import LIMIT, Panel
from herdr.watch.row import FAINT, LINE, Row, coloured, short_ref

MARKS: dict[VerdictWord, str] = {"keep": "●", "interesting": "◆", "discard": "○", "crash": "✕"}
BARS = "▁▂▃▄▅▆▇█"


class CandidatesPanel(Panel[CandidateList, CandidateView]):
    """The candidates, the newest first; the head has a star."""

    part = "candidates"
    number = 4
    legend = "candidates: ● keep ◆ interesting ○ discard ✕ crash □ not judged"
    empty = "no candidates yet"

    def question(self, project: str) -> ListCandidates:
        """The newest candidates of the project."""
        return ListCandidates(project=project, limit=LIMIT)

    def rows(self, answer: CandidateList, _now: datetime) -> list[Row[CandidateView]]:
        """A row for each candidate."""
        return [Row(ref=one.ref, text=_line(one), what=one) for one in reversed(answer.candidates)]

    def left_out(self, answer: CandidateList) -> int:
        """How many more candidates there are."""
        return answer.left_out

    async def describe(self, row: Row[CandidateView], page: Page, feed: Feed) -> None:
        """The candidate with its scores, its verdict and its comments."""
        shown = await feed.ask(ShowCandidate(candidate=row.ref))
        one = shown.candidate
        page.title(f"{one.ref}: {one.subject}")
        page.fact("verdict", verdict_of(one) + (" (the head)" if one.is_head else ""))
        page.fact("why", one.reason or one.error)
        page.fact(shown.metric, number(one.value))
        page.fact("gain", " ".join(filter(None, [number(one.gain, "+"), percent(one.share)])))
        page.fact("over", one.bar)
        for name, value in one.metrics.items():
            page.fact(name, number(value) if name != shown.metric else None)
        page.fact("parent", one.parent)
        page.fact("origin", one.origin)
        page.fact("runs", shown.runs)
        page.fact("commit", one.commit[:12])
        page.fact("changed protected files", one.touched)
        page.fact("recorded", f"{page.age(one.created_at)} ago")
        page.text("Note", one.note)
        page.comments(shown.comments)

    def show_trajectory(self, values: Sequence[float]) -> None:
        """Draw what the latest heads scored, oldest first, into the title."""
        # The title's own words take about so much of the line.
        room = max(self.size.width - len("4 Candidates ─ 10000 of 10000"), 8)
        self.entitle(sparkline(values, room))


def sparkline(values: Sequence[float], room: int) -> str:
    """The latest values as bars, as many as there is room for.

    Args:
        values: oldest first.
        room: columns of the terminal.
    """
    shown = values[-max(room, 1) :]
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    height = (high - low) or 1.0
    return "".join(BARS[round((value - low) / height * (len(BARS) - 1))] for value in shown)


def _line(one: CandidateView) -> Content:
    verdict = verdict_of(one)
    gain = percent(one.share) or number(one.gain, "+")
    return Content.assemble(
        coloured(verdict, MARKS[one.verdict] if one.verdict else "□"),
        (f" {short_ref(one.ref)}{'*' if one.is_head else ' '} ", FAINT),
        coloured(verdict, size=11),
        f" {number(one.value)} ",
        (f"{gain} " if gain else "", FAINT),
        first_line(one.subject, LINE),
    )
