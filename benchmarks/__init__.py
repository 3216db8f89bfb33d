"""The measured programs, and in ``common`` what they share: the standard library and torch only.

A program is a folder with a ``main.py``. Python puts that folder on the path of a script; the
package itself is found with one line, wherever the program is started from::

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

Everything is then imported by its full name, also what stands beside the program
(``from benchmarks.gpt import model``): no two modules have the same name, and a folder that is
named after a library, such as ``torchvision``, does not hide it.
"""
