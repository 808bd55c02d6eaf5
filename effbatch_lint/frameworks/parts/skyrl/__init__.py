"""Pieces of SkyRL."""
