"""Pieces of LLM Foundry."""
