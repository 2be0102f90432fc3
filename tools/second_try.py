"""Run pytest; give what failed one more try, alone; write down what passed only then.

    python tools/second_try.py FLAKY_FILE [argument of pytest]...

A busy machine is no fault of a change; a test that fails twice is one. The ids of the tests that passed at the
second try are added to FLAKY_FILE, one a line. The exit status is 0 when every test passed at one of its tries. A
pytest that did not come to its end (status other than 0 and 1) has run nobody knows which tests: it is not tried
again, and its status stands.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

#: pytest's exit status when it ran all tests and some failed.
SOME_FAILED = 1
ALONE = ("-n", "0", "--dist", "no", "--last-failed", "--last-failed-no-failures", "none")


def main(flaky_file: str, *arguments: str) -> int:
    """Run the tests, at most twice; returns what to exit with.

    Args:
        flaky_file: gets the ids of the tests that passed only at the second try.
        arguments: of pytest, for both tries.
    """
    with tempfile.TemporaryDirectory() as cache:
        status = run(cache, *arguments)
        failed = failed_tests(cache)
        if status != SOME_FAILED or not failed:
            return status
        print(f"\nOne more try, alone, for {len(failed)} that failed:", flush=True)
        status = run(cache, *arguments, *ALONE)
        again = failed_tests(cache)
    if status in (0, SOME_FAILED):
        with Path(flaky_file).open("a", encoding="utf-8") as file:
            file.writelines(f"{test}\n" for test in failed if test not in again)
    return status or bool(again)


def run(cache: str, *arguments: str) -> int:
    """Run pytest with a cache of its own, so that what it failed at is of this run."""
    pytest = Path(sys.executable).with_name("pytest")
    return subprocess.run([pytest, *arguments, "-o", f"cache_dir={cache}"], check=False).returncode


def failed_tests(cache: str) -> list[str]:
    """The tests that failed at their latest try; none when pytest wrote none down, as when it crashed."""
    try:
        return list(json.loads(Path(cache, "v/cache/lastfailed").read_bytes()))
    except FileNotFoundError:
        return []


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
