import os
import sys

import pytest

from milabench_ddp.config.schema import PlanSpec
from milabench_ddp.hidden import SECRETS
from milabench_ddp.plan.bash import render
from milabench_ddp.plan.planner import plan_launches
from tests.support.launches import SITE, benchmark, cluster, njobs
from tests.support.scripts import bash, echoes, told


@pytest.mark.parametrize("own", [None, "hunter-one", "hunter-two"])
def test_secrets_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, own: str | None):
    """By the caller's own names where they have them; without them a script ends at once."""
    monkeypatch.delenv("MY_TOKEN", raising=False)
    if own is not None:
        monkeypatch.setenv("MY_TOKEN", own)
    SECRETS.learn_environ(os.environ)
    script = render([echoes(["--x", "a'hunter-one b"], {"MY_TOKEN": "hunter-one"})], sys.executable)
    assert "hunter" not in script
    name = "MY_TOKEN_2" if own == "hunter-two" else "MY_TOKEN"
    assert f'MY_TOKEN="${name}" ' in script
    env = {key: value for key, value in os.environ.items() if key != name}
    missing = bash(script, env=env)
    assert missing.returncode != 0
    assert f"{name}: is a secret that this script does not have: set it" in missing.stderr
    given = bash(script, env={**env, name: "hunter-one"})
    argv, seen = told(next(line for line in given.stdout.splitlines() if line.startswith("[[")))
    assert argv[:2] == ["--x", "a'hunter-one b"]
    assert seen["MY_TOKEN"] == "hunter-one"


@pytest.mark.parametrize("plan", [PlanSpec("per_gpu"), njobs(1), njobs(2)])
def test_what_processes_share_is_searched_for_secrets_once(
    monkeypatch: pytest.MonkeyPatch, plan: PlanSpec
) -> None:
    searched = []
    learn = SECRETS.learn
    monkeypatch.setattr(SECRETS, "learn", lambda given: searched.append(given) or learn(given))

    def searches(nodes: int) -> int:
        (planned,) = plan_launches(benchmark(plan=plan), cluster(8, nodes), SITE)
        SECRETS.forget()  # what was known, and the words that were searched
        searched.clear()
        assert render([planned], "python3").count(" & pids+=($!)") == len(planned.processes)
        return len(searched)

    assert searches(200) == searches(2)


def test_a_secret_that_is_learned_later_is_hidden_in_words_that_were_printed() -> None:
    process = echoes(["--x", "hunter2-later"], {"PLAIN": "hunter2-later"})
    assert render([process], sys.executable).count("hunter2-later") == 4
    SECRETS.learn({"MY_PASSWORD": "hunter2-later"})
    script = render([process], sys.executable)
    assert "hunter2-later" not in script
    assert script.count('PLAIN="$MY_PASSWORD" ') == 2
