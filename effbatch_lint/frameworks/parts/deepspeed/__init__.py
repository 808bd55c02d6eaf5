"""What the readers of DeepSpeed files share."""
