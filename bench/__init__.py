"""Measures what herdr costs, beside its budgets: `python -m bench` (see docs/benchmarks.md)."""
