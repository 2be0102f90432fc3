"""A short round trip through many cities."""
