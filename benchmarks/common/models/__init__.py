"""The models that the programs train, where a library does not have them."""
