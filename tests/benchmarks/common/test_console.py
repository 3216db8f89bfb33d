from benchmarks.common import console

RATE = {"task": "train", "rank": 0, "rate": 812.5, "units": "images/s", "step": 3, "time": 1.0}


def test_lines():
    times = {"rank": 1, "from": 5, "ms": [1.0, 2.0, 5.0], "wait_ms": [0.5, 0.5, 1.0]}
    payloads = [
        RATE,
        RATE | {"warmup": True, "rate": 0.1034},
        {"task": "train", "rank": 0, "loss": 7.1, "step": 3},
        {"task": "main", "rank": 2, "memory_peak": [10.5, 12.0]},
        {"task": "main", "rank": 0, "step_times": times},
        {"$event": "begin", "$data": {"time": 2.5}},
        {"$event": "ready", "$data": {}},
    ]
    assert [console.text(payload) for payload in payloads] == [
        "train         812.50 images/s  step 3",
        "train         0.1034 images/s  step 3  (warm-up)",
        "train   rank 0  loss 7.1000  step 3",
        "main    rank 2  memory_peak [10.5, 12.0]",
        "main    rank 1  steps 5-7: median 2.000 ms, maximum 5.000 ms, "
        "25.0 % of it waiting for data",
        "begin   time 2.5000",
        "ready",
    ]


def test_an_error_is_left_to_stderr(capsys):
    console.show({"$event": "error", "$data": {"type": "ValueError"}})
    console.show(RATE)
    assert capsys.readouterr().out == "train         812.50 images/s  step 3\n"
