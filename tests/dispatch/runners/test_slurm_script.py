import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch.runners.base import ScriptRequest
from milabench_ddp.dispatch.runners.slurm import SlurmRunner
from milabench_ddp.dispatch.runners.slurm_script import flags, parameters
from milabench_ddp.errors import DispatchError
from milabench_ddp.plan.launch import Launch, Process
from milabench_ddp.plan.planner import plan_launches
from milabench_ddp.results.state import JobState
from tests.golden import check_golden
from tests.support.launches import SITE, benchmark, cluster, njobs

RUNNER = RunnerProfile(
    kind="slurm",
    partition="train",
    account="mine",
    timeout=30,
    gpus_per_node=8,
    setup=("module load cuda",),
    environment={"NCCL_SOCKET_IFNAME": "en s"},
    options={"exclusive": "user"},
)


def jobs_text(allocation: str, **options: str) -> str:
    launches = []
    for each in (benchmark("big", num_machines=2), benchmark("small", num_machines=1)):
        launches += plan_launches(each, cluster(gpus=1, nodes=2), SITE)
    profile = replace(RUNNER, allocation=allocation, options={**RUNNER.options, **options})
    request = ScriptRequest(profile, launches, 2, SITE.python, ["made by a test"])
    return SlurmRunner().script(request)


@pytest.mark.parametrize("allocation", ["shared", "separate"])
def test_golden(allocation: str) -> None:
    text = jobs_text(allocation)
    check_golden(f"dispatch/sbatch_{allocation}.sh", text)
    done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=True)
    assert done.stderr == ""


def test_ranks_meet_at_the_ports_and_the_interface_of_the_profile(tmp_path: Path) -> None:
    launches = plan_launches(benchmark("b", plan=njobs(2)), cluster(gpus=2, nodes=2), SITE)
    profile = replace(RUNNER, rendezvous_ports=(21_000, 21_009), network_interface="ib0")
    text = SlurmRunner().script(ScriptRequest(profile, launches, 2, SITE.python, []))
    assert "export MASTER_PORT=$((21000 + SLURM_JOB_ID % 9))\n" in text  # and the port after it
    (line,) = re.findall(r"^MASTER_ADDR=.*\n.*", text, re.MULTILINE)
    for name, said in {
        "srun": '[ "$3" = --nodelist=n3 ] && shift 3 && exec "$@"',
        "ip": "[ \"$*\" = '-4 -o addr show dev ib0' ] && echo '2: ib0  inet 10.1.2.3/24 brd 10'",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{said}\n")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "first": "n3"}
    done = subprocess.run(
        ["bash", "-c", f"{line}; echo $MASTER_ADDR"], env=env, text=True, stdout=-1
    )
    assert done.stdout == "10.1.2.3\n"


def test_jobs_of_which_one_runs_at_a_time_have_one_name() -> None:
    text = jobs_text("separate", dependency="afterok:1,singleton")
    for option in ("job-name=milabench", "dependency=afterok:1,singleton"):
        assert text.count(f"#SBATCH --{option}\n") == text.count("sbatch <<") == 2


def test_bash_hands_each_job_to_sbatch(tmp_path: Path) -> None:
    sbatch = tmp_path / "sbatch"
    sbatch.write_text(f'#!/bin/sh\ncat > {tmp_path}/job.$$\necho "Submitted batch job $$"\n')
    sbatch.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(["bash"], input=jobs_text("separate"), text=True, env=env, check=True)
    scripts = [path.read_text() for path in tmp_path.glob("job.*")]
    assert sorted(s.count("#SBATCH --nodes=2") for s in scripts) == [0, 1]
    for script in scripts:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        assert script.startswith("#!/usr/bin/env bash\n#SBATCH ")


def test_the_scheduler_is_asked_for_what_run_asks_for() -> None:
    submitit = pytest.importorskip("submitit.slurm.slurm")
    told = parameters(RUNNER, 3)
    slurm = {key.removeprefix("slurm_"): value for key, value in told.items()}
    text = submitit._make_sbatch_string("x", folder="/f", job_name="j", **slurm)
    theirs = {line.removeprefix("#SBATCH --") for line in text.splitlines() if "#SBATCH" in line}
    ours = set(flags(RUNNER, JobState("j", 3, ("a",))))
    assert ours - theirs == set()
    # Only `run` sets its logs' place and survives a lost node, which needs a coordinator.
    beside = {line.partition("=")[0] for line in theirs - ours}
    assert beside == {"error", "output", "open-mode", "wckey", "no-kill"}


def test_there_is_nothing_to_submit() -> None:
    with pytest.raises(DispatchError, match="there is nothing to submit"):
        SlurmRunner().script(ScriptRequest(RUNNER, [], 2, SITE.python, []))


def test_a_job_is_a_batch_step_that_outlives_signals_and_nodes() -> None:
    """The batch step starts the agents itself; it is not one of several tasks."""
    found = parameters(RUNNER, 3)
    assert found["slurm_use_srun"] is False
    assert found["slurm_setup"] == [
        "trap : TERM USR2",
        "export MILABENCH_SIGNAL_DELAY=60",
    ]
    options = found["slurm_additional_parameters"]
    wanted = {"nodes": 3, "ntasks_per_node": 1, "no_kill": True, "exclusive": "user", "time": 30}
    assert options.items() >= wanted.items()
    assert options["signal"] == "USR2@60"


def test_where_slurm_knows_no_gpus_it_is_asked_for_whole_nodes() -> None:
    profile = replace(RUNNER, gres=False, options={})
    options = parameters(profile, 3)["slurm_additional_parameters"]
    words = flags(profile, JobState("j", 3, ("a",)))
    assert "gpus_per_node" not in options
    assert options["exclusive"] is True
    assert not [word for word in words if word.startswith(("gpus", "gres"))]
    assert "exclusive" in words


def test_what_a_profile_does_not_say_is_left_to_the_cluster() -> None:
    found = parameters(RunnerProfile(kind="slurm", exclusive=False), 1)
    told = {"no_kill": True, "nodes": 1, "ntasks_per_node": 1, "time": 60, "signal": "USR2@60"}
    assert found["slurm_additional_parameters"] == told


SBATCH = """\
#!/bin/sh
cat > {folder}/job.$$.sh
export SLURM_JOB_ID=$$ SLURM_PROCID=0 SLURM_STEP_NODELIST=here
exec bash {folder}/job.$$.sh
"""
ATTACKS = [
    "\nMILABENCH_NODE\nMILABENCH_JOB\ntouch {canary}\n",
    "MILABENCH_NODE\nMILABENCH_NODE_\nMILABENCH_JOB\nMILABENCH_JOB_\ntouch {canary}",
    "'; touch {canary}; '",
    "$(touch {canary})`touch {canary}`",
    "\r\n#SBATCH --wrap='touch {canary}'\ntouch {canary}\n\x1b[2J\u2028touch {canary}",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_becomes_a_command(tmp_path: Path, attack: str) -> None:
    """In any place of a configuration, where the script is submitted or where it runs."""
    canary = tmp_path / "canary"
    text = attack.format(canary=canary)
    for name, script in (
        ("sbatch", SBATCH.format(folder=tmp_path)),
        ("srun", '#!/bin/sh\nwhile :; do case $1 in --*) shift;; *) exec "$@"; esac; done\n'),
        ("scontrol", "#!/bin/sh\necho here\n"),
    ):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    code = "import os, sys; print([sys.argv[1:], *map(os.environ.get, 'ABCD')])"
    words = (sys.executable, "-S", "-c", code, text)
    process = Process(("b", "D0"), words, {"A": text}, 0, (0,))
    launches = [Launch(benchmark(text), None, (process,), defaults={"C": text})]
    setup = (f": {shlex.quote(text)}",)
    profile = RunnerProfile(
        "slurm",
        setup=setup,
        environment={"B": text},
        network_interface=text,
        srun_options=(f"--comment={text}",),
        command_prefix=("env", f"D={text}"),
    )
    script = SlurmRunner().script(ScriptRequest(profile, launches, 1, sys.executable, [text]))
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash"], input=script, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert str([[text], text, text, text, text]) in done.stdout.splitlines(), done.stderr
    assert not canary.exists()


@pytest.mark.parametrize("attack", ["a b", "a --wrap=x", 'it\'s "so"', "$(id)", "#x", "a\\b"])
def test_the_value_of_an_option_is_one_word(attack: str) -> None:
    found = flags(RunnerProfile("slurm", account=attack), JobState("j", 1, ("a",)))
    (word,) = (word for word in found if word.startswith("account="))
    assert shlex.split(word) == [f"account={attack}"]


def test_secrets_of_a_profile_come_from_the_environment() -> None:
    setup, environment = ("login --password 'hunter 2' x",), {"HF_TOKEN": "hunter3"}
    profile = replace(RUNNER, setup=setup, environment=environment)
    launches = plan_launches(benchmark("b"), cluster(gpus=1), SITE)
    text = SlurmRunner().script(ScriptRequest(profile, launches, 1, SITE.python, []))
    assert "hunter" not in text
    assert 'export HF_TOKEN="$HF_TOKEN"' in text
    assert ': "${PASSWORD:?' in text
    line = next(line for line in text.splitlines() if line.startswith("eval "))
    shown = line.partition(" </dev/null")[0].replace("eval", "echo", 1)
    env = {"PATH": os.environ["PATH"], "PASSWORD": "hunter 2"}
    done = subprocess.run(
        ["bash", "-c", shown], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "login --password 'hunter 2' x\n"
