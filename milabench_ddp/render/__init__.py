"""Documents as lists of blocks, and what writes blocks in a format."""
