"""Pieces of torchtune."""
