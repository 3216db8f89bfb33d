"""Studies of statistics and diagnoses, by data whose truth is known.

Each prints how often what is said of its data holds: ``python -m tests.studies.NAME``, from the top
of the repository. ``docs/results.rst`` has the tables that they gave last.
"""
