"""The only door to models: sockets, limits, retries, cache and journal live here and nowhere else."""
