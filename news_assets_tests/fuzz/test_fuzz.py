"""Every reader keeps its limits on mutated inputs; `make fuzz` goes on for minutes."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from news_assets_tests.fuzz import limits
from news_assets_tests.fuzz.limits import MAX_CPU_S, BrokenLimitError, check
from news_assets_tests.fuzz.mutations import MAX_BYTES, mutated
from news_assets_tests.fuzz.readers import READERS, Reader, inputs_of, read
from news_assets_tests.support.inline_sandbox import InlineSandbox

FEW = settings(
    max_examples=12,
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("name", READERS)
def test_a_reader_keeps_its_limits_on_mutated_inputs(name: str) -> None:
    @FEW
    @given(
        mutated(
            [data for data in inputs_of(name) if len(data) < 20_000][:20],
            READERS[name].tokens,
        )
    )
    def reads(data: bytes) -> None:
        started = time.process_time()
        read(name, data[:30_000])
        assert time.process_time() - started < MAX_CPU_S

    reads()


@given(st.data())
@settings(max_examples=30, derandomize=True)
def test_mutated_inputs_have_a_largest_size(data: st.DataObject) -> None:
    assert len(data.draw(mutated([b"abc" * 1000], [b"x" * 50]))) <= MAX_BYTES


def exceed_the_cpu_limit(data: bytes) -> None:
    started = time.process_time()
    while time.process_time() - started < 0.02:
        pass


@pytest.mark.parametrize(
    ("reads", "reason"),
    [
        (lambda data: {}[data], "page: could not be read: KeyError: b'poison'"),
        (exceed_the_cpu_limit, "page: 0.0 s of CPU"),
    ],
    ids=["another error", "too slow"],
)
def test_an_input_that_breaks_a_limit_is_kept(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    reads: Callable[[bytes], object],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(limits, "MAX_CPU_S", 0.01)
    monkeypatch.setitem(READERS, "page", Reader(reads, READERS["page"].inputs))
    with pytest.raises(BrokenLimitError, match=re.escape(reason)) as raised:
        check("page", b"poison", InlineSandbox())
    assert (tmp_path / str(raised.value).rpartition("; ")[2]).read_bytes() == b"poison"
