"""Provenance: the machine and software of a measurement, collected once, without secrets.

Packages are not imported: they may belong to another interpreter.
"""

import ast
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from ..hazards import HAZARDS
from ..hidden import HIDDEN, SECRETS
from ..node_settings import SettingSource
from .backends import BACKENDS
from .devices import Node
from .host import host
from .setting_reader import read_settings

# Variables of the caller that can change a measurement, by their beginnings. Their values are kept;
# of others that begin so, which may have secrets, only the names.
KNOWN: Mapping[str, str] = {
    "CUBLAS_": "WORKSPACE_CONFIG",
    "CUBLASLT_": "WORKSPACE_SIZE",
    "CUDA_": "CACHE_DISABLE CACHE_MAXSIZE CACHE_PATH DEVICE_ORDER FORCE_PTX_JIT HOME "
    "MODULE_LOADING MPS_ACTIVE_THREAD_PERCENTAGE MPS_PIPE_DIRECTORY PATH VERSION VISIBLE_DEVICES",
    "CUDNN_": "ATTENTION LOGDEST_DBG LOGINFO_DBG",
    "FI_": "EFA_FORK_SAFE EFA_USE_DEVICE_RDMA EFA_USE_HUGE_PAGE LOG_LEVEL PROVIDER",
    "GLOO_": "DEVICE_TRANSPORT SOCKET_IFNAME",
    "GOMP_": "CPU_AFFINITY SPINCOUNT STACKSIZE",
    "HABANA_": "LOGS VISIBLE_DEVICES VISIBLE_MODULES",
    "HIP_": "FORCE_DEV_KERNARG VISIBLE_DEVICES",
    "HSA_": "ENABLE_SDMA FORCE_FINE_GRAIN_PCIE NO_SCRATCH_RECLAIM OVERRIDE_GFX_VERSION XNACK",
    "KMP_": "AFFINITY BLOCKTIME HW_SUBSET SETTINGS",
    "MASTER_": "ADDR PORT",
    "MILABENCH_": "BASE DEVICE NODE SETUP_TIMEOUT SIGNAL_DELAY START STEP_TIMEOUT TRACES",
    "MKL_": "CBWR DEBUG_CPU_TYPE DYNAMIC ENABLE_INSTRUCTIONS NUM_THREADS THREADING_LAYER",
    "NCCL_": "ALGO ASYNC_ERROR_HANDLING BUFFSIZE CGA_CLUSTER_SIZE CHECKS_DISABLE COLLNET_ENABLE "
    "COMM_BLOCKING CROSS_NIC CUMEM_ENABLE DEBUG_FILE DEBUG_SUBSYS DMABUF_ENABLE GRAPH_REGISTER "
    "IB_AR_THRESHOLD IB_GID_INDEX IB_HCA IB_PCI_RELAXED_ORDERING IB_QPS_PER_CONNECTION "
    "IB_RETRY_CNT IB_SL IB_SPLIT_DATA_ON_QPS IB_TC IB_TIMEOUT IGNORE_CPU_AFFINITY LAUNCH_MODE "
    "MAX_CTAS MAX_NCHANNELS MAX_P2P_NCHANNELS MIN_CTAS MIN_NCHANNELS MNNVL_ENABLE NET "
    "NET_GDR_LEVEL NET_GDR_READ NET_PLUGIN NET_SHARED_BUFFERS NSOCKS_PERTHREAD NTHREADS "
    "NVLS_ENABLE P2P_NET_CHUNKSIZE P2P_NVL_CHUNKSIZE PROTO PXN_DISABLE SHARP_DISABLE "
    "SOCKET_FAMILY SOCKET_IFNAME SOCKET_NTHREADS TOPO_FILE TUNER_PLUGIN VERSION",
    "NVIDIA_": "DRIVER_CAPABILITIES VISIBLE_DEVICES",
    "OMP_": "DYNAMIC NUM_THREADS PLACES PROC_BIND SCHEDULE STACKSIZE WAIT_POLICY",
    "PYTORCH_": "ALLOC_CONF CUDA_ALLOC_CONF HIP_ALLOC_CONF KERNEL_CACHE_PATH NVML_BASED_CUDA_CHECK",
    "RCCL_": "MSCCL_ENABLE MSCCLPP_ENABLE MSCCLPP_THRESHOLD",
    "ROCR_": "VISIBLE_DEVICES",
    "SLURM_": "ARRAY_JOB_ID ARRAY_TASK_ID CLUSTER_NAME CPU_BIND CPUS_ON_NODE CPUS_PER_GPU "
    "CPUS_PER_TASK GPUS GPUS_ON_NODE GPUS_PER_NODE JOB_CPUS_PER_NODE JOB_GPUS JOB_ID JOB_NODELIST "
    "JOB_NUM_NODES JOB_PARTITION LOCALID MEM_PER_NODE NNODES NODEID NTASKS NTASKS_PER_NODE PROCID "
    "RESTART_COUNT STEP_GPUS STEP_ID SUBMIT_DIR TOPOLOGY_ADDR",
    "TORCHELASTIC_": "MAX_RESTARTS RUN_ID",
    "TORCHINDUCTOR_": "CACHE_DIR COMPILE_THREADS CUDAGRAPHS FREEZING FX_GRAPH_CACHE MAX_AUTOTUNE "
    "MAX_AUTOTUNE_GEMM",
    "TORCH_": "BLAS_PREFER_CUBLASLT CPP_LOG_LEVEL CUDA_ARCH_LIST CUDNN_V8_API_DISABLED "
    "FR_BUFFER_SIZE HOME LOGS NCCL_ASYNC_ERROR_HANDLING NCCL_AVOID_RECORD_STREAMS "
    "NCCL_CUDA_EVENT_CACHE NCCL_DEBUG_INFO_TEMP_FILE NCCL_DUMP_ON_TIMEOUT NCCL_ENABLE_MONITORING "
    "NCCL_ENABLE_TIMING NCCL_HEARTBEAT_TIMEOUT_SEC NCCL_HIGH_PRIORITY NCCL_TRACE_BUFFER_SIZE",
    "UCX_": "IB_GPU_DIRECT_RDMA MAX_RNDV_RAILS NET_DEVICES RNDV_SCHEME RNDV_THRESH TLS",
    "XLA_": "FLAGS PYTHON_CLIENT_MEM_FRACTION PYTHON_CLIENT_PREALLOCATE",
    "ZE_": "AFFINITY_MASK FLAT_DEVICE_HIERARCHY",
}
MODULES = "LOADEDMODULES"  # of Lmod and Environment Modules: names with colons between them
NAMES = ("LD_LIBRARY_PATH", "LD_PRELOAD", MODULES, "MALLOC_CONF", "PYTHONPATH", "VIRTUAL_ENV",
         *HAZARDS)  # fmt: skip


def collect(
    arch: str,
    node: Node,
    argv: Sequence[str],
    environ: Mapping[str, str],
    audited: Mapping[str, SettingSource] | None = None,
) -> dict[str, Any]:
    """Host, devices, settings, versions, commit, command line and environment, JSON-able.

    Args:
        arch: the name of the devices' back-end.
        node: this host, with the devices that are used; without any, no driver is asked.
        argv: this program's command line; values that look like secrets are hidden.
        environ: this program's environment; only variables that can change a measurement are kept.
        audited: the settings to read, by name.
    """
    # A login node is asked for no devices: its driver is not that of the nodes.
    accelerators: dict[str, Any] = {"arch": arch, "gpus": {}}
    if node.devices:
        accelerators = BACKENDS[arch].accelerators(node.devices)
    settings = {}
    if audited and node.devices:
        settings = read_settings(audited, accelerators["gpus"])
    commit = checkout_of(Path(__file__), environ) or {"tag": None, "commit": None, "date": None}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "milabench": {"version": __version__, **commit},
        "command": SECRETS.hide_words(argv),
        "environment": of_interest(environ),
        "host": host(),
        "settings": settings,
        "accelerators": _known({**accelerators, "notes": node.notes or None}),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": versions(sys.path),
        "pytorch": torch_build(sys.path),
    }


def meta(provenance: Mapping[str, Any]) -> dict[str, object]:
    """The data of the ``meta`` event of result files: milabench's fields, in its form, and ours."""
    cpu = provenance["host"]["cpu"]
    modules = provenance["environment"].get(MODULES)
    return {
        "cpu": {"count": cpu["count"], "brand": cpu["brand"]},
        "os": provenance["host"]["os"],
        "accelerators": provenance["accelerators"],
        "date": provenance["date"],
        "milabench": {name: provenance["milabench"][name] for name in ("tag", "commit", "date")},
        "pytorch": provenance["pytorch"],
        "python": provenance["python"],
        "packages": provenance["packages"],
        **({"modules": modules} if modules else {}),
    }


def _known(facts: Mapping[str, object]) -> dict[str, object]:
    return {
        name: _known(value) if isinstance(value, dict) else value
        for name, value in facts.items()
        if value is not None
    }


def of_interest(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {}
    for name, value in sorted(environ.items()):
        prefix = next(filter(name.startswith, KNOWN), "")
        if name in NAMES or (prefix and name.removeprefix(prefix) in KNOWN[prefix].split()):
            kept[name] = value
        elif prefix:
            kept[name] = HIDDEN
    found: dict[str, str] = SECRETS.hide_all(kept)
    return found


PACKAGES = (
    "torch",
    "torchvision",
    "transformers",
    "triton",
    "numpy",
    "voir",
    "nvidia-ml-py",
)
GIT_TIMEOUT = "5"  # seconds; on a slow network disk, the commit is not worth a longer wait

_ASK_GIT = """
git ls-files --error-unmatch "$1" >&2 &&
git log -1 --no-show-signature --format="%H %cI" &&
git describe --tags --always &&
git status --porcelain --untracked-files=no
"""


def versions(path: Sequence[str]) -> dict[str, str]:
    installed = _installed(path)
    return {name: _version(installed[key]) for name in PACKAGES if (key := _key(name)) in installed}


def torch_build(path: Sequence[str]) -> dict[str, object]:
    """How the torch on the import path ``path`` was built; empty if torch is not there.

    ``torch`` (its version), ``cuda`` and ``hip`` (versions), ``debug`` and ``git_version`` come
    from ``torch/version.py``; ``nccl`` and ``cudnn`` are the versions of their packages. These two
    are left out if torch has its own copy, as builds from source do.
    """
    installed = _installed(path)
    torch = installed.get("torch")
    if torch is None:
        return {}
    constants = _constants(torch.with_name("torch") / "version.py")
    build: dict[str, object] = {"torch": constants.get("__version__") or _version(torch)}
    for name in ("cuda", "hip", "debug", "git_version"):
        if name in constants:
            build[name] = constants[name]
    cuda = build.get("cuda")
    if isinstance(cuda, str):
        major = cuda.split(".")[0]
        for name in ("nccl", "cudnn"):
            if found := installed.get(_key(f"nvidia-{name}-cu{major}")):
                build[name] = _version(found)
    return build


def _constants(file: Path) -> dict[str, object]:
    """The constants that ``torch/version.py`` assigns, read without executing it."""
    try:
        source = file.read_text()
    except OSError:
        return {}
    constants: dict[str, object] = {}
    for name, value in re.findall(r"^(\w+)(?:: [^=\n]+)? = (.+)$", source, re.MULTILINE):
        with suppress(ValueError, SyntaxError):
            constants[name] = ast.literal_eval(value)
    return constants


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _installed(path: Sequence[str]) -> dict[str, Path]:
    """The metadata of packages, ``NAME-VERSION.dist-info`` or ``.egg-info``, by normalized names.

    ``importlib.metadata`` finds them, too, but takes 14 ms of CPU to load, on each node.
    """
    found: dict[str, Path] = {}
    for entry in path:
        with suppress(OSError):  # it is a zip file, or not there
            for each in Path(entry or ".").iterdir():
                if each.suffix in (".dist-info", ".egg-info"):
                    own = each.stem.partition("-")[0]
                    found.setdefault(_key(own), each)
    return found


def _version(metadata: Path) -> str:
    return metadata.stem.partition("-")[2].partition("-")[0]


def checkout_of(file: Path, environ: Mapping[str, str]) -> dict[str, object] | None:
    """What git tells of the checkout that tracks ``file``; None without a checkout, or without git.

    It has the ``tag`` (the commit as ``git describe`` names it), the ``commit``, its ``date`` (ISO
    8601), and whether files have changed since (``dirty``). A repository that does not track the
    file does not count: the virtual environment of an installed package often lies inside the
    checkout of another project.
    """
    # A hook's GIT_DIR would point to another repository, and `status` must not write to the index.
    env = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    env["GIT_OPTIONAL_LOCKS"] = "0"
    limited = ["timeout", "--signal", "KILL", GIT_TIMEOUT, "sh", "-c", _ASK_GIT, "sh", file.name]
    try:
        git = subprocess.run(
            limited, cwd=file.parent, env=env, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    log, tag, *changes = git.stdout.splitlines()
    commit, date = log.split()
    return {"tag": tag, "commit": commit, "date": date, "dirty": bool(changes)}
