"""What a writer does to a text so that it cannot end its field, forge another one or open a comment of its own.

The existing reader knows no escapes: a value ends at its line, a block at the first `-->`, and the first block of
a body is the one that counts. What is written here reads the same to both.
"""

from __future__ import annotations

import re

from herdr_polyresearch.protocol.scalars import trim

# C0 but for line feed and tab, DEL, C1, and the separators that some readers take for line ends.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_BREAKS = re.compile("[\t\n\r\x0b\x0c\x85\u2028\u2029]+")


def clean_value(text: str) -> str:
    """Return a text as the value of a field: one line, no marker of an HTML comment.

    Runs of line breaks and tabs become one space; other control characters go.
    """
    return trim(_markers(_sound(_CONTROLS.sub("", _BREAKS.sub(" ", text)))))


def clean_text(text: str) -> str:
    """Return a text of several lines for the visible part of a comment, line feeds its only line breaks."""
    one_break = re.sub("\r\n?|[\x0b\x0c\x85\u2028\u2029]", "\n", text)
    return trim(_markers(_sound(_CONTROLS.sub("", one_break))))


def _markers(text: str) -> str:
    return text.replace("-->", "--&gt;").replace("<!--", "&lt;!--")


def _sound(text: str) -> str:
    """Drop halves of surrogate pairs: no forge can store them."""
    return text.encode("utf-8", "ignore").decode("utf-8")
