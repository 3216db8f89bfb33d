"""The environment variables that change what is measured, without secrets."""

import re
from collections.abc import Mapping, Sequence

PREFIXES = (
    "CUDA_",
    "GLOO_",
    "GOMP_",
    "HABANA_",
    "HIP_",
    "HSA_",
    "KMP_",
    "MASTER_",
    "MILABENCH_",
    "MKL_",
    "NCCL_",
    "NVIDIA_",
    "OMP_",
    "PYTORCH_",
    "RCCL_",
    "ROCR_",
    "SLURM_",
    "TORCH",  # TORCH_..., TORCHINDUCTOR_..., TORCHELASTIC_...
    "UCX_",
    "XLA_",
    "ZE_",
)
NAMES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_CONF", "PYTHONPATH", "VIRTUAL_ENV")
HIDDEN = "(hidden)"

_SECRET = {
    *("auth", "credential", "credentials", "jwt", "key", "apikey", "passwd", "password"),
    *("passphrase", "secret", "secrets", "token"),
}


def of_interest(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``environ`` that change what is measured, sorted, secrets hidden."""
    return {
        name: HIDDEN if _is_secret(name) else hide_password(value)
        for name, value in sorted(environ.items())
        if name in NAMES or name.startswith(PREFIXES)
    }


def hide_secrets(argv: Sequence[str]) -> list[str]:
    """``argv`` with the values of options and settings hidden whose names look like secrets.

    ``--override bench.env.HF_TOKEN=x`` and ``--api-key x`` alike.
    """
    words: list[str] = []
    for i, word in enumerate(argv):
        name, equals, _ = word.partition("=")
        if i and argv[i - 1].startswith("-") and "=" not in argv[i - 1] and _is_secret(argv[i - 1]):
            words.append(HIDDEN)
        elif equals and _is_secret(name):
            words.append(f"{name}={HIDDEN}")
        else:
            words.append(hide_password(word))
    return words


def hide_password(text: str) -> str:
    """``text`` without the password of an address in it."""
    return re.sub(r"(://[^/\s:@]*):[^/\s@]+@", rf"\1:{HIDDEN}@", text)


def _is_secret(name: str) -> bool:
    return not _SECRET.isdisjoint(re.split(r"[^a-z]+", name.lower()))
