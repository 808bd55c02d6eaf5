"""Pieces of NeMo-RL."""
