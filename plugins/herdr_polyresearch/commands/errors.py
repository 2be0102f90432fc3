"""What a command exits with when it does not do what was asked."""

from __future__ import annotations

from herdr.api import HerdrError

EXIT_CODES = """\
Exit status: 0 done; 1 something failed; 2 wrong usage; 3 blocking duties come first; 4 somebody else was faster;
5 the protocol's rules do not allow it now; 75 the forge's quota is short; 130 interrupted; 141 nobody reads on.\
"""


class BlockedError(HerdrError):
    """There are duties to do before anything new is started."""

    exit_code = 3


class LostRaceError(HerdrError):
    """Somebody else has what was asked for."""

    exit_code = 4


class GuardError(HerdrError):
    """The state of the project, or the role of whoever asks, does not allow it."""

    exit_code = 5
