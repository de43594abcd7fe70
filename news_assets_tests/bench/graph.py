"""The whole graph over real pages in one range run, compared with its two heavy
libraries on the same pages.

The reference is trafilatura on every page, one after the other, then onnxruntime on the
extracted texts. Needs the evaluation corpus beside the repository. Prints seconds, the
ratio, the seconds of each step, and peak memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from news_assets_tests.support.newsroom import Sites, newsroom

SHARED = Path(__file__).parents[3] / "shared"
PORT = 8087
MAX_RATIO = 1.5
MAX_MB = 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", choices=("graph", "bare"))
    parser.add_argument("--home", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.child:
        print(
            json.dumps(
                _graph(options.home)
                if options.child == "graph"
                else _bare(options.home)
            )
        )
        return
    if not SHARED.is_dir():
        print("skipped: the evaluation corpus is not beside the repository")
        return
    _compare(options.repeats)


def _compare(repeats: int) -> None:
    options = ("--agencies", "12", "--hold-back", "0")
    with (
        tempfile.TemporaryDirectory() as folder,
        newsroom(SHARED, PORT, *options) as sites,
    ):
        home = Path(folder)
        _models(home)
        pages = len(sites.call("/_articles"))
        runs = [
            (_child("graph", home / f"run{n}"), _child("bare", home / f"run{n}"))
            for n in range(repeats)
        ]
    ratios = sorted(graph["seconds"] / bare["seconds"] for graph, bare in runs)
    ratio, memory = ratios[len(ratios) // 2], max(graph["peak_mb"] for graph, _ in runs)
    graph, bare = runs[0]
    print(f"{pages} pages, 12 agencies, median of {repeats} alternating runs")
    print(
        f"  graph, one range run   {graph['seconds']:6.1f} s  {graph['peak_mb']:5.0f} MB  {graph['outcomes']}"
    )
    for step, seconds in graph["steps"].items():
        print(f"    {step:<21}{seconds:6.1f} s")
    parts = f"trafilatura {bare['extract_s']:.1f}, onnxruntime {bare['embed_s']:.1f}"
    print(f"  bare libraries         {bare['seconds']:6.1f} s  {parts}")
    print(f"  ratio                  {ratio:6.2f}    at most {MAX_RATIO}")
    print(f"  peak memory            {memory:6.0f} MB at most {MAX_MB}")
    sys.exit(ratio > MAX_RATIO or memory > MAX_MB)


def _models(home: Path) -> None:
    """Export the model once, so that no run includes it."""
    from news_assets.clients.embedding.embedder import OnnxEmbedder
    from news_assets.settings import Settings

    OnnxEmbedder.open(Settings.read().embedding_model, home / "models", 2)


def _child(name: str, home: Path) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "news_assets_tests.bench.graph",
        "--child",
        name,
        "--home",
        str(home),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _graph(home: Path) -> dict[str, Any]:
    import dagster as dg

    from news_assets.records.articles import RawArticle
    from news_assets_tests.support.graph import Graph

    home.mkdir(parents=True)
    today = datetime.now(UTC).date()
    (home / "models").symlink_to(home.parent / "models")
    with dg.DagsterInstance.ephemeral() as instance:
        graph = Graph(Sites(PORT).desk(home), home, instance)
        assert graph.poll().success
        started = time.perf_counter()
        result = graph.run(today - timedelta(days=3), today)
        seconds = time.perf_counter() - started
        assert result.success
    with graph.lake() as lake:
        outcomes = (
            lake.frame(RawArticle, None, ("outcome",))["outcome"].value_counts().rows()
        )
    steps = {
        e.step_key: e.step_success_data.duration_ms / 1000
        for e in result.all_events
        if e.is_step_success
    }
    return {
        "seconds": seconds,
        "peak_mb": _peak_mb(),
        "outcomes": dict(outcomes),
        "steps": steps,
    }


def _bare(home: Path) -> dict[str, Any]:
    import gzip

    import trafilatura

    from news_assets.clients.embedding.embedder import OnnxEmbedder
    from news_assets.records.articles import StoredPage
    from news_assets.settings import Settings
    from news_assets.store.lake import Lake

    with Lake.open(str(home / "catalog.sqlite"), str(home / "data")) as lake:
        bodies = [gzip.decompress(page.body_gzip) for page in lake.read(StoredPage)]
    embedder = OnnxEmbedder.open(
        Settings.read().embedding_model, home.parent / "models", 2
    )
    started = time.perf_counter()
    found = [
        trafilatura.extract(body, with_metadata=True, output_format="markdown")
        for body in bodies
    ]
    texts = [text for text in found if text]
    extracted = time.perf_counter()
    embedder.embed(texts)
    ended = time.perf_counter()
    return {
        "seconds": ended - started,
        "extract_s": extracted - started,
        "embed_s": ended - extracted,
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
