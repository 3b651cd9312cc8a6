"""From a task and a response to verdicts, or to the reason for a missing one."""
