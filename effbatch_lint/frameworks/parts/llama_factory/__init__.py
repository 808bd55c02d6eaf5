"""Pieces of LLaMA-Factory."""
