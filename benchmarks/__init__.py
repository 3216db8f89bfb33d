"""The measured programs.

``common`` has the modules that they share, which need only the standard library and torch.

A program is a folder with a ``main.py``. Python puts that folder on the path of a script. One line
adds the folder of this package, wherever the program is started from::

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

All modules are then imported by their full name, also those beside the program
(``from benchmarks.gpt import model``). So no two modules have the same name, and a folder that is
named after a library, such as ``torchvision``, does not hide the library.
"""
