"""Rubric, judge and scheme behind one callable, and runs over whole files of responses."""
