"""Rubric files of every origin become tasks; what cannot be read is a reject with its reason."""
