import pytest

from milabench_ddp.machine.environment import hide_secrets, of_interest


def test_what_changes_a_measurement_sorted() -> None:
    environ = {
        "OMP_NUM_THREADS": "4",
        "HOME": "/home/me",
        "NCCL_DEBUG": "INFO",
        "CUDA_VISIBLE_DEVICES": "",
        "TORCHINDUCTOR_CACHE_DIR": "/tmp/x",
        "EDITOR": "vi",
    }
    assert list(of_interest(environ).items()) == [
        ("CUDA_VISIBLE_DEVICES", ""),
        ("NCCL_DEBUG", "INFO"),
        ("OMP_NUM_THREADS", "4"),
        ("TORCHINDUCTOR_CACHE_DIR", "/tmp/x"),
    ]


@pytest.mark.parametrize(
    "name", ["SLURM_JWT", "MILABENCH_API_KEY", "TORCH_HUB_TOKEN", "MASTER_PASSWORD"]
)
def test_a_variable_named_like_a_secret_keeps_its_name_only(name: str) -> None:
    assert of_interest({name: "hunter2"}) == {name: "(hidden)"}


def test_a_password_in_an_address() -> None:
    assert of_interest({"TORCH_MIRROR": "https://me:hunter2@example.org/x"}) == {
        "TORCH_MIRROR": "https://me:(hidden)@example.org/x"
    }


@pytest.mark.parametrize(
    ("word", "hidden"),
    [
        ("*.env.HF_TOKEN=hunter2", "*.env.HF_TOKEN=(hidden)"),
        ("--api-key=hunter2", "--api-key=(hidden)"),
        ("bench.argv.--max-tokens=128", "bench.argv.--max-tokens=128"),
        ("--tokenizer=bert", "--tokenizer=bert"),
        ("config/monkey.yaml", "config/monkey.yaml"),
    ],
)
def test_words_of_a_command_line(word: str, hidden: str) -> None:
    assert hide_secrets(["run", word]) == ["run", hidden]


def test_the_word_after_an_option_that_takes_a_secret() -> None:
    assert hide_secrets(["run", "--token", "hunter2", "x"]) == ["run", "--token", "(hidden)", "x"]
    assert hide_secrets(["run", "--token=hunter2", "x"]) == ["run", "--token=(hidden)", "x"]
