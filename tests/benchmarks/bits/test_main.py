"""The bit check, from the program to the finding; one bit is flipped where the test says."""

import math
from types import SimpleNamespace

import pytest
import torch

from benchmarks.bits.digests import Digests
from milabench_ddp.report.assemble import report_of
from tests.support.programs import Wire, measured, program
from tests.support.result_files import config, end, line, start, write

bits = program("bits")

SMALL = "--device cpu --width 16 --tokens 8 --steps 8 --again 2"
PRODUCT = "layer 1 up: product"


def computed(tmp_path, monkeypatch, flips=(), options=SMALL, name="metrics"):
    """What the program tells; the last bit of a product is flipped in these steps of the run."""
    wire = Wire(tmp_path / name)
    add, seen = Digests.add, 0

    def flipping(self, name, values):
        nonlocal seen
        if name == PRODUCT:
            if seen in flips:
                values.detach().view(-1).view(torch.int32)[-1] ^= 1
            seen += 1
        add(self, name, values)

    with monkeypatch.context() as patch:
        patch.setattr(Digests, "add", flipping)
        patch.setenv("MILABENCH_METRICS", str(wire.path))
        bits.main(options.split())
    return wire.close()


def found(tmp_path, ranks):
    """The findings about the payloads of devices, each on a node of its own."""
    for number, payloads in enumerate(ranks):
        settings = config("bits", device=0, tag=["bits", "D0", f"node{number}"])
        lines = [line("data", payload, "data") for payload in payloads if "$event" not in payload]
        meta = line("meta", {"node": f"node{number}"})
        name = f"bits.D0.node{number}"
        write(tmp_path / "run", name, settings, meta, start(), *lines, end(0, outcome="ok"))
    report = report_of([tmp_path / "run"])
    return [each for each in report.findings if each.name in ("bits_differ", "bits_unclear")]


def test_a_run_tells_its_digests_before_it_measures_and_its_rate(tmp_path, monkeypatch):
    payloads = computed(tmp_path, monkeypatch)
    kinds = ["digests" if "digests" in p["bits"] else "other" for p in payloads if "bits" in p]
    assert kinds == ["other", *["digests"] * 8, "other"]
    first_measured = payloads.index(measured(payloads)[0])
    last_digests = max(k for k, p in enumerate(payloads) if "digests" in p.get("bits", {}))
    assert last_digests < first_measured
    (verdict,) = [p["bits"] for p in payloads if "unequal_steps" in p.get("bits", {})]
    assert verdict == {"passes": 3.0, "unequal_steps": 0}
    assert {p["units"] for p in measured(payloads)} == {"steps/s"}


def test_one_flipped_bit_of_one_device_names_it_the_step_and_the_tensor(tmp_path, monkeypatch):
    """It flips in each pass at step 7: the device agrees with itself, and with no other."""
    right = computed(tmp_path, monkeypatch)
    wrong = computed(tmp_path, monkeypatch, flips=(7, 15, 23), name="wrong")
    (each,) = found(tmp_path, [right, right, wrong, right])
    assert (each.name, each.place, each.nodes) == ("bits_differ", "bits.D0.node2", ("node2",))
    assert each.evidence == {"step": 7, "tensor": PRODUCT, "usual": 3}
    assert each.fails
    assert each.action == "isolate"


@pytest.mark.parametrize("flip", [0, 7, 8, 23])  # the first and the last step of some passes
def test_a_bit_that_flips_once_is_named_without_another_device(tmp_path, monkeypatch, flip):
    wrong = computed(tmp_path, monkeypatch, flips=(flip,))
    (each,) = found(tmp_path, [wrong])
    assert (each.name, each.nodes) == ("bits_differ", ("node0",))
    assert each.evidence == {"step": flip % 8, "tensor": PRODUCT, "usual": 0}


def test_of_two_devices_it_cannot_be_told_who_is_wrong(tmp_path, monkeypatch):
    right = computed(tmp_path, monkeypatch)
    wrong = computed(tmp_path, monkeypatch, flips=(7, 15, 23), name="wrong")
    (each,) = found(tmp_path, [right, wrong])
    assert (each.name, each.nodes, each.fails) == ("bits_unclear", ("node0", "node1"), False)


def test_devices_of_other_options_are_not_compared(tmp_path, monkeypatch):
    ranks = [computed(tmp_path, monkeypatch, name="r")]
    ranks += [computed(tmp_path, monkeypatch, options=f"{SMALL} --seed 1", name="s")] * 2
    assert found(tmp_path, ranks) == []


def test_what_is_not_deterministic_is_refused_and_not_called_corruption(wire, monkeypatch, capsys):
    def nondeterministic(self, name, values):
        values.detach().view(-1).put_(torch.tensor([0, 0]), torch.tensor([1.0, 2.0]))

    monkeypatch.setattr(Digests, "add", nondeterministic)
    with pytest.raises(SystemExit) as ended:
        bits.main(SMALL.split())
    assert ended.value.code == 2
    assert "put_ does not have a deterministic implementation" in capsys.readouterr().err
    (error,) = [p["$data"] for p in wire.close() if p.get("$event") == "error"]
    assert error["type"] == "UnsupportedError"
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(
    ("fault", "step", "wrong_nodes"),
    [("flip:7", 7, {"node2"}), ("flip_always:3", 3, {"node2"}), ("flip:7@node9", None, set())],
)
def test_a_planted_bit_is_flipped_told_and_found(tmp_path, monkeypatch, fault, step, wrong_nodes):
    right = computed(tmp_path, monkeypatch)
    monkeypatch.setenv("MILABENCH_PLANT", fault)
    monkeypatch.setenv("MILABENCH_NODE", "node2")
    planted = computed(tmp_path, monkeypatch, name="planted")
    told = [p["planted"] for p in planted if "planted" in p]
    assert told == ([{"fault": fault, "node": "node2"}] if wrong_nodes else [])
    each = found(tmp_path, [right, right, planted])
    assert {node for one in each for node in one.nodes} == wrong_nodes
    assert [one.evidence["step"] for one in each] == ([step] if wrong_nodes else [])


def test_a_planted_nan_is_that_of_the_loss_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("MILABENCH_PLANT", "nan:10")
    payloads = computed(tmp_path, monkeypatch)
    losses = {p["step"]: p["loss"] for p in payloads if "loss" in p}
    assert losses
    assert all(math.isnan(loss) == (step >= 10) for step, loss in losses.items())
    assert found(tmp_path, [payloads]) == []


def test_two_gpus_are_alike_whatever_their_host_is(monkeypatch):
    """What decides how a GPU adds is in it, and what else differs is not."""
    args = bits.options().parse_args([])
    facts = {"kind": "cuda", "name": "H100", "torch": "2.11", "cuda": "13.0", "cudnn": "9.19"}
    facts |= {"threads": 8, "cpus": "0-7", "uuid": "GPU-1"}

    def alike(**changes):
        shown = {"multi_processor_count": 132} | changes
        monkeypatch.setattr(bits, "told", lambda _: facts | changes)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: SimpleNamespace(**shown))
        return bits.like(torch.device("cuda", 0), args)

    usual = alike()
    for change in ({"uuid": "GPU-2"}, {"cpus": "8-15"}, {"threads": 4}):
        assert alike(**change) == usual
    different = {"name": "H200", "cuda": "12.9", "cudnn": "9.1", "multi_processor_count": 114}
    for name, value in different.items():
        assert alike(**{name: value}) != usual


@pytest.mark.slow
def test_two_hundred_clean_runs_are_silent(tmp_path, monkeypatch):
    """50 clusters of four devices; in the last one a bit flips, so that the silence is one."""
    for cluster in range(50):
        folder = tmp_path / str(cluster)
        folder.mkdir()
        options = f"{SMALL} --seed {cluster}"
        ranks = [
            computed(folder, monkeypatch, options=options, name=f"metrics{rank}")
            for rank in range(4)
        ]
        assert found(folder, ranks) == []
    ranks[3] = computed(folder, monkeypatch, (7,), options, name="wrong")
    (each,) = found(folder, ranks)
    assert each.nodes == ("node3",)
