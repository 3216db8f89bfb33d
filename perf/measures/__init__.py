"""The measurements of the table, a module for each kind."""
