"""Lines sorted stably by radix."""
