"""Pieces of verl."""
