"""The mistakes of a beginner: each gets a message that says where, what, and what to do."""

import json
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.config.shipped import shipped_root
from milabench_ddp.config.tree import shown
from tests.golden import check_golden
from tests.support.workplace import EMIT, GOOD, Workplace

NET = "include: _defaults.yaml\nnet:\n  inherits: _per_gpu\n  program: net.py\n"
SWEEP = "net:\n  matrix: {n: [1, 2]}\n  job:\n    inherits: _per_gpu\n    program: net.py\n"

COMMANDS = {
    "a command that there is not": "rnu net.yaml",
    "no configuration": "run",
    "a configuration that is not there": "run ner.yaml",
    "a folder instead of a configuration": "run .",
    "an option that there is not": "run net.yaml --selct net",
    "an option without its value": "run net.yaml --select",
    "a number in words": "run net.yaml --gpus two",
    "a benchmark that there is not": "run net.yaml --select nett",
    "a preset that no benchmark has": "run net.yaml --preset smal",
    "an override without a value": "run net.yaml --override net.weight",
    "an override of a benchmark that there is not": "run net.yaml --override nett.weight=1",
    "an override of a key that there is not": "run net.yaml --override net.wieght=1",
    "a percentage without its sign": "run net.yaml --until 1",
    "a run that is not there": "report runs/frist",
    "a folder that is no run": "report .",
    "a run to go on with that is not there": "run --resume runs/frist",
    "a device that is not there": "run net.yaml --device hpu",
    "more devices than can be": "run net.yaml --gpus 131073",
    "a system file that is not there": "run net.yaml --system nodes.yaml",
    "a runner that there is not": "run net.yaml --runner slrum",
    "a file that is there already": "new net",
}

CONFIGURATIONS = {
    "a tab": NET + "\tweight: 1\n",
    "a line that is not indented": NET + " weight: 1\n",
    "a colon that is missing": NET + "  weight 1\n",
    "a bracket that is not closed": NET + "  argv: [1, 2\n",
    "no mapping": "- net\n",
    "nothing in it": "# net\n",
    "keys without a benchmark": "program: net.py\nplan: {method: per_gpu}\n",
    "an include that is not there": NET.replace("_defaults", "_defualts"),
    "a parent that there is not": NET.replace("_per_gpu", "_per_gup"),
    "a parent without its file": NET.replace("include: _defaults.yaml\n", ""),
    "a key that there is not": NET + "  wieght: 1\n",
    "a text for a number": NET + "  weight: heavy\n",
    "a unit": NET + "  max_duration: 5 min\n",
    "a text for true or false": NET + "  enabled: maybe\n",
    "a plan as a text": NET + "  plan: per_gpu\n",
    "a plan that there is not": NET + "  plan: {method: per_gup}\n",
    "no plan": "net: {program: net.py}\n",
    "a misspelt preset": NET + "  presets: {smal: {argv: {--n: 1}}}\n",
    "a key that a preset cannot have": NET + "  presets: {small: {program: net.py}}\n",
    "options as a text": NET + "  argv: --batch-size 3\n",
    "an option that is false": NET + "  argv: {--shuffle: false}\n",
    "an option with a mapping": NET + "  argv: {--sizes: {a: 1}}\n",
    "a placeholder without quotes": NET + "  argv: {--device: {device_name}}\n",
    "a placeholder that there is not": NET + "  argv: {--device: '{device_nam}'}\n",
    "a reference to nothing": NET + "  weight: ${..wieght}\n",
    "a condition that there is not": NET + "  requires_capabilities: [\"gpu['cuont'] > 1\"]\n",
    "a comparison with a benchmark that there is not": NET + "  relative_to: ent\n",
    "a matrix without a job": NET + "  matrix: {n: [1, 2]}\n",
    "a job without a name": f"include: _defaults.yaml\n{SWEEP}",
    "a name that is the same for all": f"include: _defaults.yaml\n{SWEEP}    name: net\n",
    "a name with a blank": NET.replace("net:", "my net:"),
    "a program that is not there": NET.replace("net.py", "ner.py"),
    "a program that is not executable": NET.replace("net.py", "net.sh"),
    "an option that the program does not have": NET + "  argv: {--batch-sise: 3}\n",
    "voir without its file": NET + "  instrument: voir\n",
    "a probe that the script does not have": NET.replace("net.py", "voir/net.py")
    + "  instrument: voir\n",
    "several at once": NET.replace("net.py", "ner.py") + "  wieght: 1\n  max_duration: long\n",
}

PROGRAMS = {
    "reports nothing": "print('trained')",
    "prints its rates": "import json\nprint(json.dumps({'task': 'train', 'rate': 3.0}))",
    "tells a rate as a text": EMIT + "rate('fast')",
    "tells no number": EMIT + "rate(float('nan'))",
    "tells a negative rate": EMIT + "rate(-1)",
    "misspells the task": EMIT + "emit(task='trian', rate=1.0)",
    "tells no task": EMIT + "emit(rate=1.0)",
    "tells two units": EMIT + "rate(1.0)\nemit(task='train', rate=1.0, units='images/s')",
    "is always warming up": EMIT + "rate(1.0, warmup=True)",
    "tells a loss that is no number": EMIT + "rate(1.0, loss=float('nan'))",
    "imports a module that is missing": "import torch_geometrci",
    "has a mistake in its syntax": "def train(:\n    pass",
    "raises": "raise ValueError('the batch is empty')",
    "ends with a status": "import sys\nsys.exit(3)",
}


@pytest.fixture
def said(tmp_path: Path, monkeypatch, capsys):
    """What a command says in a folder with a benchmark, without the folders of this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "voir").mkdir()
    for name, text in {
        "net.py": GOOD + "\nimport argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('--batch-size')\n",
        "net.sh": "#!/bin/sh\n",
        "voir/net.py": "def train():\n    batch = 3\n",
        "voir/voirfile.py": "def instrument_main(ov):\n    ov.probe('//trian > batch')\n",
    }.items():
        (tmp_path / name).write_text(text)

    def say(words: str, config: str = NET) -> tuple[int, str]:
        (tmp_path / "net.yaml").write_text(config)
        try:
            code = main(words.split())
        except SystemExit as error:
            code = int(error.code or 0)
        out, err = capsys.readouterr()
        text = (out + err).replace(shown(shipped_root()), "<shipped>")
        return code, text.replace(str(tmp_path), "<here>")

    return say


def test_each_of_them(said, at: Workplace) -> None:
    told = []
    cases = [(name, words, NET) for name, words in COMMANDS.items()]
    cases += [(name, "list net.yaml", config) for name, config in CONFIGURATIONS.items()]
    for name, words, config in cases:
        code, text = said(words, config)
        told.append(f"--- {name}\n$ milabench {words}\n{text}")
        assert code == 2, told[-1]
        assert "Traceback" not in text
        assert not Path("runs").exists()
    told += [f"--- a program that {name}\n{reason}\n" for name, reason in _of_programs(at).items()]
    assert len(told) >= 40
    check_golden("commands/mistakes.txt", "\n".join(told))


def _of_programs(at: Workplace) -> dict[str, str]:
    """What the report of their run tells of each program, and what it advises."""
    names = {f"b{number}": name for number, name in enumerate(PROGRAMS)}
    for name, program in zip(names, PROGRAMS.values(), strict=True):
        at.write(f"{name}.py", program)
    suite = "".join(
        f"{name}: {{program: {name}.py, plan: {{method: per_gpu}}}}\n" for name in names
    )
    at.write("suite.yaml", suite)
    done = at.milabench("run", "suite.yaml", "--device", "cpu", "--gpus", "1", "--name", "mine")
    assert done.code == 1
    benchmarks = at.state().benchmarks
    assert all(benchmarks[name].reason for name in names)
    report = json.loads(at.milabench("report", str(at.run()), "--format", "json").out)
    told = {each["benchmark"]: each for each in report["findings"] if each["severity"] == "error"}
    return {
        case: f"{told[name]['sentence']}\n-> {told[name]['advice']}" for name, case in names.items()
    }
