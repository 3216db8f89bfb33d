#!/usr/bin/env bash
# All that only a GPU shows, within the minutes for which one is lent; see docs/results.rst.
cd "$(dirname "$0")/.." && exec "${PYTHON:-python3}" -m perf.gpu_check "$@"
