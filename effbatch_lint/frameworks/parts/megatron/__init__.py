"""What Megatron-LM and the frameworks that are built on it share."""
