"""Pure arithmetic on verdicts: every scheme, one response at a time and vectorised; no I/O, no async, no model."""
