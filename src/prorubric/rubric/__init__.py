"""Records of rubrics and tasks, their files, and what can be read off a criterion's text."""
