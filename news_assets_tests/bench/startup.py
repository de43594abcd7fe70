"""Time to load the definitions compared with `import dagster` alone; fails if it
imports a heavy library.
"""

import subprocess
import sys
import time

MAX_EXTRA_S = 2.0
REPEATS = 5
_HEAVY = "torch, trafilatura, onnxruntime, sentence_transformers"
_LOADED = f"print(*[m for m in '{_HEAVY}'.split(', ') if m in sys.modules])"
_LOAD = f"import sys, news_assets.definitions as d; d.defs(); {_LOADED}"


def _seconds(code: str) -> tuple[float, str]:
    started = time.perf_counter()
    output = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        check=True,
        capture_output=True,
        text=True,
    )
    return time.perf_counter() - started, output.stdout.strip()


def main() -> None:
    _seconds(_LOAD)
    rounds = [(_seconds("import dagster")[0], *_seconds(_LOAD)) for _ in range(REPEATS)]
    extra = sorted(loaded - bare for bare, loaded, _ in rounds)[REPEATS // 2]
    heavy = rounds[-1][2]
    print(f"import dagster {rounds[-1][0]:.2f} s, definitions {rounds[-1][1]:.2f} s")
    print(f"  extra          {extra:5.2f} s   at most {MAX_EXTRA_S}")
    print(f"  heavy imports  {heavy or 'none'}")
    sys.exit(extra > MAX_EXTRA_S or bool(heavy))


if __name__ == "__main__":
    main()
