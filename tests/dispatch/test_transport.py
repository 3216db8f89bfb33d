import os
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.codec import encode
from milabench_ddp.dispatch.protocol import FromAgent, Heartbeat, Problem, ToAgent
from milabench_ddp.dispatch.transport import Connection, Stream, heartbeats
from tests.support.dispatch import connections

LARGE = Problem("x" * 300_000)  # more than a pipe takes at once


def reading() -> tuple[Connection[FromAgent], int]:
    """A connection that reads from a pipe, and the descriptor to write to."""
    read, write = os.pipe()
    return Connection(Stream(read, write, lambda: os.close(read)), FromAgent), write


@given(st.lists(st.text(max_size=5), max_size=3), st.data())
def test_messages_arrive_whole_however_they_are_cut(texts: list[str], data: st.DataObject) -> None:
    connection, write = reading()
    sent = [Problem(text) for text in texts]
    rest = b"".join(encode(each) + b"\n" for each in sent)
    found: list[FromAgent] = []
    while rest:
        size = min(len(rest), data.draw(st.integers(1, 40)))
        os.write(write, rest[:size])
        found += connection.receive() or []
        rest = rest[size:]
    os.close(write)
    assert found == sent
    assert connection.receive() is None
    connection.close()


def test_a_line_that_is_no_message_is_left_out() -> None:
    """A login shell may print any text, before the agent or while it runs."""
    connection, write = reading()
    banner = (
        b'Welcome to host1!\n\n[1]\n7\n{}\n{"type":"Welcome"}\n\xff\n{"type":"Ping","id":"x"}\n'
    )
    os.write(write, banner + b'{"type":"Heartbeat"}\n')
    assert connection.receive() == [Heartbeat()]
    os.write(write, banner)
    assert connection.receive() == []
    os.close(write)
    connection.close()


def test_nodes_that_share_a_stream_get_what_is_for_them() -> None:
    """As the tasks of a step: srun gives to all what it reads, and labels what they say."""
    from_agents, to_coordinator = os.pipe()
    from_coordinator, to_agents = os.pipe()
    stream = Stream(from_agents, to_agents)
    ours = [Connection[FromAgent](stream, FromAgent, label) for label in (0, 12)]
    assert ours[1].send(Problem("y" * 2500))
    assert ours[0].send(Heartbeat())
    assert stream.send(Problem("to all"))
    text = os.read(from_coordinator, 1 << 16)
    assert max(map(len, text.splitlines())) <= 1024
    told = []
    for own in (0, 12):
        read, write = os.pipe()
        os.write(write, text)
        os.close(write)
        with open(read) as file:
            agent = Connection[FromAgent](Stream(file.fileno(), to_coordinator, own=own), FromAgent)
            told.append(agent.receive())
    assert told == [[Heartbeat(), Problem("to all")], [Problem("y" * 2500), Problem("to all")]]
    agent.send(Problem("x" * 1500))
    first, second, _ = os.read(from_agents, 1 << 16).split(b"\n")
    for line in (b"12: %s" % first, b' 0: {"type":"Heartbeat"}', b"12: %s" % second, b"7: {}"):
        os.write(to_coordinator, line + b"\n")
    stream.receive()
    assert [each.taken() for each in ours] == [[Heartbeat()], [Problem("x" * 1500)]]
    ours[0].close()
    assert not ours[0].send(Heartbeat())
    assert ours[1].send(Heartbeat())
    os.close(to_coordinator)
    assert ours[1].receive() is None
    ours[1].close()
    assert stream.is_closed
    for fd in (from_agents, from_coordinator, to_agents):
        os.close(fd)


def test_what_is_sent_is_a_line_of_json() -> None:
    ours, theirs = connections()
    assert theirs.send(Problem("a\nb é"))
    assert os.read(ours.stream.fd, 1000) == '{"type":"Problem","text":"a\\nb é"}\n'.encode()
    theirs.close()
    assert ours.receive() is None
    ours.close()


def test_a_peer_that_is_gone() -> None:
    ours, theirs = connections()
    theirs.close()
    assert ours.receive() is None
    assert not ours.send(Heartbeat())
    ours.close()


def test_after_it_is_closed_it_leaves_its_descriptors_to_others() -> None:
    """Their numbers are reused at once: a later message must not go to another file."""
    ours, theirs = connections()
    ours.close()
    assert ours.is_closed
    read, write = os.pipe2(os.O_NONBLOCK)
    others = [os.dup(write) for _ in range(3)]
    assert ours.stream.fd in (read, write, *others)
    assert not ours.send(Heartbeat())
    assert ours.receive() is None
    ours.close()
    with pytest.raises(BlockingIOError):
        os.read(read, 1)
    for fd in (read, write, *others):
        os.close(fd)
    theirs.close()


def test_messages_of_several_threads_stay_whole() -> None:
    ours, theirs = connections()

    def send(word: str) -> None:
        for _ in range(5):
            assert theirs.send(Problem(word * 300_000))

    threads = [threading.Thread(target=send, args=(word,)) for word in "ab"]
    for thread in threads:
        thread.start()
    found: list[FromAgent] = []
    while len(found) < 10:
        found += ours.receive() or []
    for thread in threads:
        thread.join()
    words = [each.text for each in found if isinstance(each, Problem)]
    assert sorted(words) == ["a" * 300_000] * 5 + ["b" * 300_000] * 5
    ours.close()
    theirs.close()


def test_a_peer_that_takes_nothing_is_gone_after_a_while() -> None:
    """No thread waits for it for ever: neither on a full pipe nor for heartbeats after that."""
    ours, theirs = connections(timeout=0.01)
    assert not theirs.send(LARGE)
    assert not theirs.send(Heartbeat())
    ours.close()
    theirs.close()


def test_a_heartbeat_does_not_wait_for_a_peer_that_takes_nothing() -> None:
    """The same thread sends the heartbeats of others, which would be late."""
    ours, theirs = connections(timeout=600.0)
    fills = threading.Thread(target=lambda: theirs.send(LARGE))
    fills.start()
    first = os.read(ours.stream.fd, 1)  # another thread still sends it
    for _ in range(10):
        theirs.stream.send_now(Heartbeat())
    rest = b""
    while not rest.endswith(b"\n"):
        rest += os.read(ours.stream.fd, 1 << 16)
    fills.join()
    text = (first + rest).replace(b"\\\n", b"")
    assert text == encode(LARGE) + b"\n"  # nothing else is within it
    theirs.stream.send_now(Heartbeat())
    assert ours.receive() == [Heartbeat()]
    ours.close()
    theirs.close()


def test_a_heartbeat_into_a_full_pipe_is_dropped() -> None:
    ours, theirs = connections(timeout=0.01)
    while theirs.stream.send_now(Heartbeat()):
        pass
    heard = 0
    while not theirs.stream.send_now(Heartbeat()):
        messages = ours.receive() or []
        assert set(messages) == {Heartbeat()}
        heard += len(messages)
    assert heard > 1000
    ours.close()
    theirs.close()


def test_what_a_peer_took_a_part_of_is_sent_to_its_end() -> None:
    """The peer pauses and then reads on: the next message must not mix with the first."""
    ours, theirs = connections(timeout=0.01)
    assert not theirs.send(LARGE)
    found: list[FromAgent] = []
    while not found:
        theirs.stream.send_now(Heartbeat())
        found += ours.receive() or []
    assert found[0] == LARGE
    assert set(found[1:]) <= {Heartbeat()}
    ours.close()
    theirs.close()


def test_both_directions_may_be_one_socket() -> None:
    """As for a command that sshd starts: a read waits although a write does not."""
    ours, theirs = socket.socketpair()
    connection = Connection[ToAgent](
        Stream(theirs.fileno(), theirs.fileno(), theirs.close), ToAgent
    )
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(connection.receive()))
    thread.start()
    thread.join(0.05)
    assert found == []
    ours.sendall(b'{"type":"Heartbeat"}\n')
    thread.join()
    assert found == [[Heartbeat()]]
    connection.close()
    ours.close()


def test_heartbeats_within_a_block_and_not_after_it() -> None:
    beats, third = [], threading.Event()

    def beat() -> None:
        beats.append(threading.current_thread())
        if len(beats) == 3:
            third.set()

    with heartbeats(beat, 0.01):
        third.wait()
    assert threading.current_thread() not in beats
    assert not any(thread.is_alive() for thread in beats)


def test_an_error_in_the_block_ends_the_heartbeats_too() -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match="of the block"), heartbeats(lambda: None, 60.0):
        raise ValueError("of the block")
    assert threading.active_count() == before


def test_a_message_of_many_environments_arrives_whole() -> None:
    """As the launch of many processes is: more than the longest line of metrics."""
    ours, theirs = connections()
    large = Problem("x" * 3_000_000)
    sender = threading.Thread(target=theirs.send, args=(large,))
    sender.start()
    found: list[FromAgent] = []
    while not found:
        found += ours.receive() or []
    sender.join()
    assert found == [large]
    theirs.close()
    ours.close()
