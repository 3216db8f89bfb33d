"""How fast the harness itself is: ``python -m perf``; and scripts that plant or simulate."""
