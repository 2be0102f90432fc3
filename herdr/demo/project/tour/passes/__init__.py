"""Ways to shorten a tour step by step; see tour/improve.py."""
