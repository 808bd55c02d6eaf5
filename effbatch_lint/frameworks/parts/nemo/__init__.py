"""Pieces of NeMo 1.x."""
