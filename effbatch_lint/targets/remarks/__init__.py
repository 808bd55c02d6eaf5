"""What comments claim of the batch, and whether it still holds (EB306)."""
