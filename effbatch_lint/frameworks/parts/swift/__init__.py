"""Pieces of ms-swift."""
