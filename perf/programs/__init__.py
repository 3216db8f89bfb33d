"""What the measurements start: programs, and the least that a harness for them does."""
