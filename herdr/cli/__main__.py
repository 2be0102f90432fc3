"""`python -m herdr.cli` is `piloop`: what the `piloop` on an agent's PATH calls."""

from __future__ import annotations

from herdr.cli.main import piloop

if __name__ == "__main__":
    piloop()
