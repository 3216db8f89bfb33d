"""DDP's communication on a clock that is moved by hand."""

import torch

from tests.support.fake_time import MS


class Sent(torch.futures.Future):
    """A bucket that has arrived at a time to come: what is called then is called at that time."""

    def __init__(self, clock, at, value):
        super().__init__()
        self.clock, self.at = clock, at
        self.set_result(value)

    def then(self, callback):
        now, self.clock.ns = self.clock.ns, self.at
        called = torch.futures.Future()
        called.set_result(callback(self))
        self.clock.ns = now
        return called


class Network:
    """Sends one bucket after another, each as long as it is told."""

    def __init__(self, clock, each=2.0, first=0.0, last=0.0):
        self.clock, self.idle_at = clock, 0
        self.each, self.first, self.last = each, first, last
        self.sent = 0

    def send(self, _, bucket):
        took = self.each + (self.first if bucket.index() == 0 else 0.0)
        took += self.last if bucket.is_last() else 0.0
        self.idle_at = max(self.idle_at, self.clock.ns) + round(took * MS)
        self.sent += 1
        return Sent(self.clock, self.idle_at, bucket.buffer())

    def wait(self):
        self.clock.ns = max(self.clock.ns, self.idle_at)
