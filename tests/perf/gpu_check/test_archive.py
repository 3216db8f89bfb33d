"""What comes back is small, and has what was measured."""

import os
import tarfile

from perf.gpu_check import archive


def packed(folder):
    target = folder / "gpu_check.tar.gz"
    archive.pack(folder, target)
    assert target.stat().st_size <= archive.LARGEST
    with tarfile.open(target) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar}


def made(folder, **files):
    for name, content in files.items():
        path = folder / "runs" / "full" / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def test_records_are_whole_and_logs_have_their_ends(tmp_path):
    lines = b'{"event": "data"}\n' * 200_000
    made(tmp_path, b_D0_data=lines, b_D0_stderr=lines + b"Error: why", b__state_json=b"{}")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "run_full.log").write_bytes(lines)
    (tmp_path / "done.json").write_text("{}")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "module.py").write_text("")
    (tmp_path / "runs" / "full" / ".reserve").write_bytes(lines)
    found = packed(tmp_path)
    run = "runs/full/b"
    names = {f"{run}.D0.data", f"{run}.D0.stderr", f"{run}/state.json"}
    assert found.keys() == {"done.json", "logs/run_full.log", *names}
    assert found[f"{run}.D0.data"] == lines
    assert len(found[f"{run}.D0.stderr"]) == archive.END
    assert found[f"{run}.D0.stderr"].endswith(b"Error: why")
    assert found == packed(tmp_path)


def test_what_is_too_large_is_left_out_and_named(tmp_path):
    made(tmp_path, a_data=os.urandom(2_000_000), b_data=os.urandom(2_900_000), c_json=b"{}")
    assert packed(tmp_path).keys() == {"runs/full/a.data", "runs/full/b.data", "runs/full/c.json"}
    made(tmp_path, d_data=os.urandom(3_000_000))
    found = packed(tmp_path)
    assert "runs/full/d.data" not in found
    assert found["left_out.txt"] == b"runs/full/d.data: 3000000 bytes"
