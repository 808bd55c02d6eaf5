"""The config's own batch numbers contradict each other.

What it checks
    Several keys, or two files of one run, state the same quantity with different values: DeepSpeed's
    train_batch_size = micro x accumulation x world, a DeepSpeed JSON whose numbers are not the trainer's arguments, an
    accelerate file that pins another accumulation than the script.

Why it matters
    Some frameworks stop at start, others let one of the two win silently.

Example
    train_batch_size: 256
    train_micro_batch_size_per_gpu: 4
    gradient_accumulation_steps: 4        # 4 x 4 x 8 = 128 on 8 devices

Use instead
    State two of the three, or "auto" where the trainer fills them in.
"""
