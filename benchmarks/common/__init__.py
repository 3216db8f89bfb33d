"""What the measured programs share: the standard library and torch, nothing else.

A program beside this folder finds it with one line, whatever the folder it is started from::

    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

The folders of the programs are no packages: ``torchvision/__init__.py`` would hide the library.
"""
