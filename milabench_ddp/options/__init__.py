"""The options of each command, as records: ``cli.py`` makes its parser from them."""
