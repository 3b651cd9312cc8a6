"""How long tests wait for what is bound to happen."""

PATIENCE = 300.0
"""Seconds. What is waited for takes a few at most on an idle machine; only what hangs is waited for this long."""
