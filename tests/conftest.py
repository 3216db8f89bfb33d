"""What holds for all tests."""

import signal

# A shell starts what it puts into the background with SIGINT ignored, and a script that a test
# starts cannot trap what it inherits so.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
