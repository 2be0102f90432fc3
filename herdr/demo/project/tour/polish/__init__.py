"""Ways to go on when no single step helps; see tour/improve.py."""
