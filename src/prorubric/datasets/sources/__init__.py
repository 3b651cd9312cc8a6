"""One file for each origin of rubrics: how to tell its rows, and how a row becomes a task."""
