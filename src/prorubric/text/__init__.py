"""Words, sentences and wording: one of each, with word lists as data."""
