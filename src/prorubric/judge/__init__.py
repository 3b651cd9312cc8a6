"""From a task and a response to verdicts, or to the reason why there is none."""
