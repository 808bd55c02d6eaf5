"""Pieces of fairseq."""
