"""What a parameter is called, however its module is wrapped."""

_WRAPPERS = ("module", "_orig_mod", "_checkpoint_wrapped_module")


def plain(name: str) -> str:
    """The name of a parameter without the wrappers around its modules, and without a stage's."""
    parts = [part for part in name.split(".") if part not in _WRAPPERS and part[:6] != "_stage"]
    return ".".join(parts)
