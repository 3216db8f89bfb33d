"""``python -m milabench_ddp``."""

import sys

from .cli import main

sys.exit(main())
