from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefw.errors import InputError
from edgefw.scenario import trace
from edgefw.scenario.load import dump, load, validate
from edgefw.scenario.trace import read_trace

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, text: str | bytes, name: str = "delays.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("750ms\n2s\n", "latency", ["750ms", "2s"]),
        ("# measured\n\n1s\n  # again\n 2s , 9, x\n", "latency", ["1s", "2s"]),
        ("delay,when\n1s,5\n2s,6", "latency", ["1s", "2s"]),
        ("3\n1\n07\n", "rounds", [3, 1, 7]),
        ("Rounds\r\n3\r\n1\r\n", "rounds", [3, 1]),
        (b"\xef\xbb\xbf750ms\n", "latency", ["750ms"]),
        ('"delay, in s"\n"1s"\n', "latency", ["1s"]),
        ("# only a comment before\nheader\n0s\n", "latency", ["0s"]),
    ],
)
def test_one_value_a_line_or_the_first_column(
    tmp_path: Path, text: str | bytes, kind: str, values: list[Any]
) -> None:
    assert read_trace(written(tmp_path, text), kind) == values


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("1s\n\n5\n", "latency", "line 3: '5' is not a time with its unit, such as 750ms"),
        ("5\n6\n", "latency", "line 1: '5' is not a time with its unit"),
        ("-1s\n", "latency", "line 1: '-1s' is not a time with its unit"),
        ("header\nanother\n1s\n", "latency", "line 2: 'another' is not a time"),
        ("# a\ndelay\n1s\nlate\n", "latency", "line 4: 'late' is not a time"),
        ("1\n0\n", "rounds", "line 2: '0' is not a whole number of rounds, 1 or more"),
        ("1\n2.5\n", "rounds", "line 2: '2.5' is not a whole number of rounds"),
        ("1\n" + "9" * 99, "rounds", "line 2: '" + "9" * 40 + "' is not a whole number"),
        ("1\n\u0663\n", "rounds", "line 2: '\u0663' is not a whole number"),
        ("1\n2s\n", "rounds", "line 2: '2s' is not a whole number of rounds"),
        ('1s\n"2s\n3s\n', "latency", "'2s\\n3s' is not a time"),
    ],
)
def test_a_wrong_value_is_named_with_its_line(tmp_path: Path, text: str, kind: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        read_trace(written(tmp_path, text), kind)
    assert str(caught.value).startswith(f"{tmp_path / 'delays.csv'}, line ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_trace_is_said(tmp_path: Path) -> None:
    for text in ("", "# nothing\n", "header\n"):
        with pytest.raises(InputError, match="holds no value: write a time with its unit"):
            read_trace(written(tmp_path, text), "latency")
    with pytest.raises(InputError, match="is not text"):
        read_trace(written(tmp_path, b"\xff\xfe\x00"), "latency")
    with pytest.raises(InputError, match="there is no trace file"):
        read_trace(tmp_path / "none", "latency")
    with pytest.raises(InputError, match="Is a directory"):
        read_trace(tmp_path, "latency")
    with pytest.raises(InputError, match="cannot read"):
        read_trace("a\0b", "latency")
    with pytest.raises(InputError, match=r"line 2: field larger than field limit"):
        read_trace(written(tmp_path, "1s\n" + "9" * 200_000), "latency")


def test_a_trace_has_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "LONGEST_TRACE", 3)
    assert len(read_trace(written(tmp_path, "delay\n" + "1s\n" * 3), "latency")) == 3
    with pytest.raises(InputError, match="line 5: a trace has 3 values at most"):
        read_trace(written(tmp_path, "delay\n" + "1s\n" * 4), "latency")


def scenario_file(folder: Path, **fault: Any) -> str:
    path = folder / "my.yaml"
    path.write_text(yaml.safe_dump({"clock": "rounds", "delays": [{"type": "drop"}], "events": [fault]}))
    return str(path)


def test_a_scenario_names_a_file_beside_it_and_holds_its_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, "7\n9\n")
    path = scenario_file(tmp_path, type="rounds", at=3, trace="delays.csv")
    made = load(path)
    assert made.events[0].model_dump()["trace"] == [7, 9]
    assert validate(yaml.safe_load(dump(made)), source="again") == made
    latency = "delays=[{type: latency, trace: delays.csv}]"
    (tmp_path / "delays.csv").write_text("2s\n")
    monkeypatch.chdir(tmp_path)  # of a ready-made scenario, paths begin here
    assert load("default", [latency]).delays[0].model_dump()["trace"] == ["2s"]


def test_a_mistake_in_a_file_names_scenario_field_file_and_line(tmp_path: Path) -> None:
    trace_path = written(tmp_path, "7\nx\n")
    path = scenario_file(tmp_path, type="rounds", at=3, trace="delays.csv")
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value) == (
        f"{path}: events.0.trace: {trace_path}, line 2: 'x' is not a whole number of rounds, 1 or more"
    )


def test_what_is_no_fault_is_left_to_the_validation(tmp_path: Path) -> None:
    path = scenario_file(tmp_path, type="drop", at=3, trace="delays.csv")
    with pytest.raises(InputError, match=r"events\.0\.trace: unknown field"):
        load(path)
    for wrong in ("5", "[5]", "[{type: [], trace: x}]"):
        with pytest.raises(InputError, match="delays"):
            load("default", [f"delays={wrong}"])


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(1, 2**53), min_size=1, max_size=20), st.booleans(), st.sampled_from(["\n", "\r\n"])
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], header: object, ending: str
) -> None:
    lines = [*(["rounds,note"] if header else []), *(f"{value},#" for value in values)]
    path = written(tmp_path_factory.getbasetemp(), ending.join(lines), "some.csv")
    assert read_trace(str(path), "rounds") == values
