"""The benchmarks: what each one reads, asks and counts."""
