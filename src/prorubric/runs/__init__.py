"""One run, whatever the verb: its folder, its models and their cost, what it rejects, how it stops and continues.

Every reply is in the journal before it is used, so running the same command again finishes a run that was stopped or
killed: only the missing calls are made.
"""
