import re
from pathlib import Path

import pytest

from milabench_ddp.config import published, shipped
from milabench_ddp.config.published import data_sheets, publications, sheet_of
from milabench_ddp.errors import ConfigError
from tests.support.configuration import write

SHEETS = """\
A100 SXM:
  product: A100
  family: Ampere
  tflop_s: {bf16: 312}
  source: [https://a.example]
"""
ROWS = """\
a table:
  source: https://b.example
  date: 2024-12-26
  software: torch
  rows:
    - {model: m, device: A100 SXM, precision: bf16, gpus: 8, value: 1.5, unit: tokens/s}
"""


@pytest.fixture
def files(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "_PACKAGE", here / "package")
    for function in (data_sheets, publications):
        function.cache_clear()
        monkeypatch.setattr(published, function.__name__, function.__wrapped__)


def read(sheets: str = SHEETS, rows: str = ROWS) -> list[published.Publication]:
    write("package/shipped/config/data_sheets.yaml", sheets)
    write("package/shipped/config/published.yaml", rows)
    return published.publications()


@pytest.mark.usefixtures("files")
def test_a_table() -> None:
    (table,) = read()
    assert (table.date, table.rows[0].value, table.rows[0].batch) == ("2024-12-26", 1.5, None)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("gpus: 8", "gpu: 8", "unknown key `gpu` in F:6: did you mean `gpus`?"),
        ("value: 1.5", "value: 0", "wrong value for `a table.rows[0].value` in F:6: expected a "
                                   "number above 0, got `0`"),
        ("tokens/s", "items/s", "wrong value for `a table.rows[0].unit` in F:6: expected "
                                "`tokens/s` or `images/s` or `TFLOP/s` or `GB/s`, got the text"),
        ("  date: 2024-12-26\n", "", "`a table` in F:1 has no `date`"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(rows=ROWS.replace(old, new))
    place = "package/shipped/config/published.yaml"
    assert said.replace("F:", f"{place}:") in str(error.value)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("312", "-1", r"`A100 SXM.tflop_s.bf16` in .*data_sheets.yaml:4: expected a number above"),
        ("312", ".inf", r"data_sheets.yaml:4: expected a number above 0, got `inf`"),
    ],
)
def test_a_mistake_in_a_data_sheet(old: str, new: str, said: str) -> None:
    read(sheets=SHEETS.replace(old, new))
    with pytest.raises(ConfigError, match=said):
        published.data_sheets()


def test_what_is_shipped_has_a_source_each() -> None:
    rows = [row for table in publications() for row in table.rows]
    assert len(rows) > 30
    assert len({(*(getattr(row, name) for name in row.__struct_fields__),) for row in rows}) == len(
        rows
    )
    addresses = [table.source for table in publications()]
    addresses += [address for sheet in data_sheets().values() for address in sheet.source]
    assert all(address.startswith("https://") for address in addresses)
    for row in rows:  # none beats what the data sheet promises
        peak = data_sheets()[row.device].tflop_s[row.precision]
        assert row.unit != "TFLOP/s" or row.value < peak


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("Tesla V100-SXM2-32GB", "V100 SXM"), ("Tesla V100-PCIE-16GB", "V100 PCIe"),
        ("Tesla T4", "T4"), ("NVIDIA L4", "L4"), ("NVIDIA L40S", "L40S"), ("NVIDIA L40", ""),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM"), ("NVIDIA A100-PCIE-40GB", "A100 PCIe"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe"), ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"), ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA H200", "H200"), ("NVIDIA H200 NVL", ""), ("NVIDIA GH200 480GB", ""),
        ("NVIDIA B200", "B200"), ("NVIDIA GB200", "GB200"), ("AMD Instinct MI300X", "MI300X"),
        ("AMD Instinct MI325X", "MI325X"), ("AMD Instinct MI250X / MI250", "MI250X"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", ""), ("", ""), ("AMD EPYC 9654", ""),
    ],
)  # fmt: skip
def test_the_data_sheet_of_a_device(product: str, name: str) -> None:
    assert sheet_of(product) == name
    matching = [each for each in data_sheets() if sheet_of(product) and _fits(each, product)]
    assert len(matching) == bool(name)  # the order of the file decides nothing


def _fits(name: str, product: str) -> bool:
    return bool(re.search(data_sheets()[name].product, product, re.IGNORECASE))
