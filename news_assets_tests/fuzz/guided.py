"""One reader under atheris: `python -m news_assets_tests.fuzz.guided READER [options of
libFuzzer] CORPUS`.
"""

import sys

LIMITS = ("-timeout=20", "-rss_limit_mb=2048", "-max_len=100000")


def main() -> None:
    import atheris  # not a dependency of the project

    with atheris.instrument_imports(
        include=["news_assets", "feedparser", "trafilatura", "protego"]
    ):
        from news_assets_tests.fuzz.readers import read
    name, *options = sys.argv[1:]
    atheris.Setup([sys.argv[0], *options], lambda data: read(name, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
