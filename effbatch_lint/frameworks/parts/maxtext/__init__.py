"""Pieces of MaxText."""
