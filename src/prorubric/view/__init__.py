"""The web app behind `prorubric view`: look at runs, compare them, review compiled rubrics."""
