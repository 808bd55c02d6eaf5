"""Pieces of prime-rl."""
