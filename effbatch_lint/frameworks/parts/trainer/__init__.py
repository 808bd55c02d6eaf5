"""What HF Trainer and the frameworks that are built on it share."""
