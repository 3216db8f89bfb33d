import json
import os
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.dispatch.channel import Channel


def pair() -> tuple[Channel, socket.socket]:
    server = socket.create_server(("127.0.0.1", 0))
    theirs = socket.create_connection(server.getsockname())
    ours, _ = server.accept()
    server.close()
    return Channel.of_socket(ours, 1.0), theirs


def pipe() -> tuple[Channel, int]:
    """A channel that reads from a pipe, and the descriptor to write to."""
    read, write = os.pipe()
    return Channel(read, write, lambda: os.close(read)), write


values = st.dictionaries(st.text(max_size=3), st.text(max_size=5) | st.integers(), max_size=2)


@given(st.lists(values, max_size=3), st.data())
def test_messages_arrive_whole_however_they_are_cut(
    sent: list[dict[str, object]], data: st.DataObject
) -> None:
    channel, write = pipe()
    text = b"".join(json.dumps(each).encode() + b"\n" for each in sent)
    found: list[object] = []
    while text:
        size = min(len(text), data.draw(st.integers(1, 40)))
        os.write(write, text[:size])
        found += channel.receive() or []
        text = text[size:]
    os.close(write)
    assert found == sent
    assert channel.receive() is None
    channel.close()


def test_a_line_that_is_not_ours_is_left_out() -> None:
    channel, theirs = pair()
    theirs.sendall(b'Welcome to host1!\n[1]\n7\n{"say":"beat"}\n\xff\n')
    assert channel.receive() == [{"say": "beat"}]
    channel.close()
    theirs.close()


def test_what_is_sent_is_a_line_of_json() -> None:
    channel, theirs = pair()
    assert channel.send(do="run", argv=["a\nb", "é"])
    text = theirs.recv(1000)
    assert text.count(b"\n") == 1
    assert json.loads(text) == {"do": "run", "argv": ["a\nb", "é"]}
    channel.close()
    assert theirs.recv(1) == b""
    theirs.close()


def test_a_peer_that_is_gone() -> None:
    channel, theirs = pair()
    theirs.close()
    assert channel.receive() is None
    assert not all(channel.send(do="beat") for _ in range(3))
    channel.close()


def test_after_it_is_closed_it_leaves_its_descriptor_to_others() -> None:
    """The number is given anew at once: what is sent then must not go there."""
    channel, theirs = pair()
    channel.close()
    read, write = os.pipe2(os.O_NONBLOCK)
    others = [os.dup(write) for _ in range(3)]
    assert channel.fd in (read, write, *others)
    assert not channel.send(do="end")
    assert channel.receive() is None
    channel.close()
    with pytest.raises(BlockingIOError):
        os.read(read, 1)
    for fd in (read, write, *others):
        os.close(fd)
    theirs.close()


def test_messages_of_several_threads_stay_whole() -> None:
    channel, theirs = pair()
    text = "x" * 300_000  # more than a socket takes at once

    def send(word: str) -> None:
        for _ in range(5):
            assert channel.send(word=word, text=text)

    threads = [threading.Thread(target=send, args=(word,)) for word in "ab"]
    for thread in threads:
        thread.start()
    with theirs, theirs.makefile("rb") as lines:
        found = [json.loads(lines.readline()) for _ in range(10)]
    assert sorted(each["word"] for each in found) == ["a"] * 5 + ["b"] * 5
    assert {each["text"] for each in found} == {text}
    for thread in threads:
        thread.join(10)
    channel.close()


def test_closing_wakes_the_thread_that_reads() -> None:
    channel, theirs = pair()
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(channel.receive()))
    thread.start()
    channel.close()
    thread.join(10)
    assert found == [None]
    theirs.close()
