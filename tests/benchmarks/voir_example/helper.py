"""What the script imports from its own folder."""

STEP = 0.002  # seconds
