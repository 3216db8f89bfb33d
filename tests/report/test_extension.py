"""A report format costs a line and a template; a table, a number, a finding: a declaration."""

import json
from functools import partial
from textwrap import dedent

import pytest

from tests.support.package_copy import PackageCopy
from tests.support.result_files import RECORDED

FIRST = str(RECORDED / "schema-1")  # which no recording replaces


def test_a_report_format_is_a_line_and_a_template(package_copy: PackageCopy) -> None:
    template = "milabench_ddp/render/templates/wiki.html"
    package_copy.add_file(
        template,
        """
        <table>
        {% for row in report.rows %}
        <tr><td>{{ row.name }}</td><td>{{ '%.1f' | format(row.perf) }}</td></tr>
        {% endfor %}
        </table>
        """,
    )
    formats = "milabench_ddp/report/formats.py"
    imported = "from ..render.html import render"
    package_copy.add_line(formats, after="from ..render.blocks import", line=imported)
    entry = '    "wiki": Format(lambda report: render("wiki.html", report=report)),'
    package_copy.add_line(formats, after='"json": Format', line=entry)
    options = "milabench_ddp/options/reading.py"
    package_copy.add_line(options, after='        "markdown",', line='        "wiki",')
    assert package_copy.touched == {formats, options, template}
    done = package_copy.milabench("report", FIRST, "--format", "wiki")
    assert done.code == 0, done.err
    assert "<tr><td>resnet50</td><td>18.4</td></tr>" in done.out
    refused = package_copy.milabench("report", FIRST, "--format", "wiki", "--table", "ranks")
    assert (refused.code, refused.out) == (2, "")


def test_a_report_table_is_declared_in_the_file_of_its_subject(package_copy: PackageCopy) -> None:
    score = "milabench_ddp/report/tables/speedup.py"
    package_copy.add_line(
        score,
        after="RELATIVE_TO = ",
        line=dedent('''
            @MadeTable
            def units(rows: Rows) -> Table:
                """The unit of each benchmark."""
                values = tuple((row.name, row.unit) for row in rows)
                return Table((Column("bench"), Column("measured in")), values, "Units")
        '''),
    )
    assert package_copy.touched == {score}
    text = package_copy.milabench("report", FIRST, "--table", "units")
    assert (text.code, text.err) == (0, "")
    assert "gpt-ddp         | tokens/s" in text.out.splitlines()
    csv = package_copy.milabench("report", FIRST, "--table", "units", "--csv")
    assert "gpt-ddp,tokens/s" in csv.out.splitlines()
    assert " --table steps" in (told := package_copy.milabench("report", FIRST).out)
    assert "units" in told
    assert "Units" in package_copy.milabench("report", FIRST, "--format", "html").out


def test_a_number_is_a_line(package_copy: PackageCopy) -> None:
    fields = "milabench_ddp/report/fields.py"
    declared = (
        '    Field("members", "its processes", lambda it: float(len(it.row.processes)), '
        'heading="members", format=".0f", sort="members", metric="members"),'
    )
    package_copy.add_line(fields, after="BENCHMARK: tuple[Field, ...] = (", line=declared)
    assert package_copy.touched == {fields}
    reported = partial(package_copy.milabench, "report", FIRST)
    assert "members" in reported("--csv").out.splitlines()[0].split(",")
    (first, *_) = json.loads(reported("--format", "json").out)["benchmarks"]
    assert first["members"] == len(first["processes"])
    assert reported("--sort", "members").code == 0
    assert "did you mean `members`" in reported("--table", "memberz").err
    package_copy.milabench("export", FIRST, "--to", "csv", "benchmarks.csv")
    head = (package_copy.folder / "benchmarks.csv").read_text().splitlines()[0]
    assert "members" in head.split(",")


def test_a_finding_is_a_function_in_the_file_of_its_subject(package_copy: PackageCopy) -> None:
    rates = "milabench_ddp/report/findings/rate_problems.py"
    package_copy.add_line(
        rates,
        after="APART_BY = ",
        line=dedent('''
            @finding("note", "only {rates} rates were measured", "measure for longer")
            def few_rates(row: Row) -> Finds:
                """A mean of few rates is uncertain."""
                count = sum(process.observed for process in row.processes)
                if count < 30:
                    yield Found("", {"rates": count})
        '''),
    )
    assert package_copy.touched == {rates}
    assert (
        "resnet50-ddp: only 24 rates"
        in package_copy.milabench("report", FIRST, "--table", "findings").out
    )
    report = json.loads(package_copy.milabench("report", FIRST, "--format", "json").out)
    found = [finding for finding in report["findings"] if finding["name"] == "few_rates"]
    assert {"rates": 24} in [finding["evidence"] for finding in found]


def test_a_key_of_a_benchmark_is_a_line_and_a_field(package_copy: PackageCopy) -> None:
    schema = "milabench_ddp/config/schema.py"
    declared = "    nice: Annotated[int, Meta(ge=0)] = 0"
    package_copy.add_line(schema, after="    matrix: Any = None", line=declared)
    package_copy.add_line(schema, after='"strong"] = "weak"', line="    nice: int = 0")
    assert package_copy.touched == {schema}
    text = "b: {program: main.py, plan: {method: per_gpu}, nice: 7}\n"
    (package_copy.folder / "main.py").touch()
    (package_copy.folder / "b.yaml").write_text(text)
    resolved = package_copy.milabench("resolve", "b.yaml", "--device", "cpu", "--gpus", "1")
    assert "  nice: 7\n" in resolved.out
    refused = package_copy.milabench("list", "b.yaml", "--override", "b.nice=-1")
    assert (refused.code, "wrong value for `nice`" in refused.err) == (2, True)


@pytest.mark.slow
def test_a_chart_is_a_function_and_a_line_of_the_catalogue(package_copy: PackageCopy) -> None:
    catalogue = "milabench_ddp/report/charts/catalogue.py"
    package_copy.add_line(
        catalogue,
        after="MOST_RANKS = ",
        line=dedent('''
            def memory(report: Report) -> Iterator[Chart]:
                """One chart of the most memory that each benchmark used."""
                rows = tuple((row.name, row.allocated) for row in report.rows)
                bars = tuple(Bar(name, (("rate", value),)) for name, value in rows)
                drawn = Bars(Axis("memory, MiB", zero_based), bars)
                table = Table((Column("bench"), Column("MiB")), rows)
                yield Chart("memory", "", "", "Memory", "The most memory.", drawn.draw, table)
        '''),
    )
    package_copy.add_line(catalogue, after='"ledger": ledger_charts', line='    "memory": memory,')
    assert package_copy.touched == {catalogue}
    made = package_copy.folder / "made"
    done = package_copy.milabench("report", FIRST, "--plots", str(made))
    assert done.code == 0, done.err
    assert ">resnet50</text>" in (made / "memory.svg").read_text()
