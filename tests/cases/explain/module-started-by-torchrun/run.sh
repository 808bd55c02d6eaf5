torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file llama.toml
