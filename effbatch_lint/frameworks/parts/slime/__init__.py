"""Pieces of slime."""
