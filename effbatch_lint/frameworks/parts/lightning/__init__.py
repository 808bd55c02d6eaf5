"""Pieces of Lightning."""
