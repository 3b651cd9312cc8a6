"""What the runs of all verbs share: folder, models and their cost, rejects, how they stop and continue.

Every reply is in the journal before it is used, so running the same command again finishes a run that was stopped or
killed: only the missing calls are made.
"""
