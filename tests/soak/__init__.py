"""Suites of faulty programs, and the laws that hold whatever happens to them."""
