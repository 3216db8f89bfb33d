"""What only a GPU shows, within the minutes for which one is lent: ``python -m perf.gpu_check``."""
