"""Pieces of NeMo Automodel."""
