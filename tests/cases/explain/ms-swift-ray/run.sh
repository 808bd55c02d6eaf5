megatron rlhf --use_ray true --config grpo.yaml
