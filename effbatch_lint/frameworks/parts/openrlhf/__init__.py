"""Pieces of OpenRLHF."""
