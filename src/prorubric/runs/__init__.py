"""One run, whatever the verb: its folder, its models and their cost, what it rejects, how it stops and continues."""
