from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.launch.lines import LONGEST, LineBuffer

chunks = st.lists(st.text("ab\n", max_size=6).map(str.encode))


@given(chunks)
def test_lines_do_not_depend_on_how_the_bytes_arrive(parts: list[bytes]):
    buffer = LineBuffer()
    lines = [line for part in parts for line in buffer.feed(part)] + list(buffer.flush())
    assert lines == b"".join(parts).splitlines(keepends=True)


def test_a_line_that_never_ends_is_handed_over_in_pieces():
    buffer = LineBuffer()
    assert list(buffer.feed(b"x" * LONGEST)) == []
    assert [len(line) for line in buffer.feed(b"x")] == [LONGEST + 1]
    assert list(buffer.flush()) == []
