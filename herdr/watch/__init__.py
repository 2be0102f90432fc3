"""The screen of `piloop watch`: what waits, what runs and what came of it, live, with keys to act on it."""
