"""A small real campaign that needs no key and no account: a trip through 250 cities, and a scripted agent."""
