"""The trunk of a campaign: which candidate is the head, and the few transactions that move it."""
