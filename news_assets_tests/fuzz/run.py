"""Fuzzes every reader of outside bytes and text for some minutes each.

    python -m news_assets_tests.fuzz.run [feed page ...] [--minutes 10] [--seed 1]
    python -m news_assets_tests.fuzz.run page --replay .news/fuzz/page/0123456789abcdef

With atheris installed (`pip install atheris`, Linux and Python up to 3.13) inputs are
guided by coverage, otherwise Hypothesis mutates real inputs. An input that breaks a
limit is kept below .news/fuzz/ and ends the fuzzing of its reader; exits with 1 if
there is one.
"""

import argparse
import importlib.util
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, settings

from news_assets_tests.fuzz import guided
from news_assets_tests.fuzz.limits import FOUND, BrokenLimitError, check, sandbox
from news_assets_tests.fuzz.mutations import mutated
from news_assets_tests.fuzz.readers import READERS, inputs_of

_EXAMPLES = 300  # of one round of Hypothesis; each starts from another seed


def fuzz_guided(name: str, minutes: float, seed: int) -> bool:
    """Fuzz a reader with atheris in a process of its own; return whether it kept all
    limits.
    """
    found = FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(inputs_of(name)):
            (Path(corpus) / str(number)).write_bytes(data)
        options = [
            f"-max_total_time={round(minutes * 60)}",
            f"-seed={seed}",
            f"-artifact_prefix={found}/",
            *guided.LIMITS,
        ]
        command = [sys.executable, "-m", guided.__name__, name, *options, corpus]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = ended.stderr.splitlines()
    print(f"{name:16} {lines[-1] if lines else ''}", flush=True)
    if ended.returncode != 0:
        print("\n".join(lines[-40:]), flush=True)
    return ended.returncode == 0


def fuzz_mutated(name: str, minutes: float, seed: int) -> bool:
    """Fuzz a reader with Hypothesis; return whether it kept all limits."""
    deadline, count = time.monotonic() + minutes * 60, 0
    with sandbox() as opened:

        @settings(
            max_examples=_EXAMPLES,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(mutated(inputs_of(name), READERS[name].tokens))
        def one_round(data: bytes) -> None:
            nonlocal count
            if time.monotonic() < deadline:
                count += 1
                check(name, data, opened)

        try:
            for number in range(10**9):
                if time.monotonic() >= deadline:
                    break
                hypothesis.seed(seed + number)(one_round)()
        except BrokenLimitError as error:
            print(f"{name:16} {count} inputs: {error}", flush=True)
            return False
    print(f"{name:16} {count} inputs, all within the limits", flush=True)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "readers",
        nargs="*",
        default=list(READERS),
        metavar="reader",
        help=", ".join(READERS),
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--replay", type=Path)
    options = parser.parse_args()
    if options.replay:
        with sandbox() as opened:
            return check(options.readers[0], options.replay.read_bytes(), opened)
    fuzz = fuzz_guided if importlib.util.find_spec("atheris") else fuzz_mutated
    print(
        f"{fuzz.__name__}, {options.minutes:g} min for each of {len(options.readers)} readers, seed {options.seed}"
    )
    sys.exit(
        not all([fuzz(name, options.minutes, options.seed) for name in options.readers])
    )


if __name__ == "__main__":
    main()
