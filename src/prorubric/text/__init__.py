"""Words, sentences and wording, with word lists as data files."""
