"""How large a configuration may be; a larger one is refused before it costs time or memory."""

FILE_BYTES = 16 * 2**20
VALUES = 250_000  # lists, mappings and what is in them; each use of an alias counts
DEPTH = 50  # nested lists and mappings, includes, parents
NUMBER = 100  # characters
BITS = 64  # of a whole number
FILES = 1_000  # that a configuration includes; one that is included twice counts twice
BENCHMARKS = 10_000
REFERENCES = 10_000  # `${...}`, as stated and as resolved
BRACES = 10  # nested in a value with `${...}`
CONDITION = 500  # characters
SECONDS = 2_000_000  # 23 days; epoll waits for at most 2**31 ms
