"""Paths -> recipes: which files are runs, which are parts and of which runs, and which belong to one run."""
