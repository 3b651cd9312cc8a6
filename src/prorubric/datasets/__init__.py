"""Turn rubric files of any format into tasks; rows that cannot be read become rejects with a reason."""
