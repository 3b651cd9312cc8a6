"""The command line: one file per verb; every verb is one config record, one function and one result record."""
