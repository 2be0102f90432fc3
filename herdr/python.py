"""How herdr starts Python programs of its own: with nothing imported from the folder that they start in."""

from __future__ import annotations

import sys

#: For 3.10, which has no `-P`: the folder goes before anything is imported.
WITHOUT_FOLDER = (
    "import sys; del sys.path[0]; import runpy; runpy.run_module({!r}, run_name='__main__', alter_sys=True)"
)


def module_argv(module: str) -> tuple[str, ...]:
    """The command that runs a module of this installation, for `subprocess` or a shebang.

    A plain `python -m` looks first into the current folder, where a repo may have a `click.py` or a `herdr` of
    its own. PYTHONPATH counts as ever.

    Args:
        module: its dotted name, as after `python -m`.
    """
    if sys.version_info >= (3, 11):
        return (sys.executable, "-P", "-m", module)
    return (sys.executable, "-c", WITHOUT_FOLDER.format(module))
