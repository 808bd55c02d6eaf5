"""Pieces of torchtitan."""
