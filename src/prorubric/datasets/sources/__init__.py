"""One file for each origin of rubrics: how to tell its rows, how a row becomes a task and, for some, a task a row."""
