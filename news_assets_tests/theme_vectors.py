"""Write the vectors of the built-in taxonomies' themes, which are part of the package.

Run after a change of a taxonomy or of the built-in model: `python -m
news_assets_tests.theme_vectors`. It takes 15 seconds of CPU time.
"""

import shutil
import tempfile
from pathlib import Path

from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.clients.embedding.exported_models import BUILT_IN_MODEL
from news_assets.clients.local_enrichers import PACKAGED_VECTORS, vectors_of
from news_assets.taxonomy import BUILT_IN, CIVIC_TOPICS, load_taxonomy


def main() -> None:
    """Replace the files of the package."""
    shutil.rmtree(PACKAGED_VECTORS, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        models_dir = Path(folder)
        embedder = OnnxEmbedder.open(BUILT_IN_MODEL, models_dir, threads=1)
        for taxonomy in (BUILT_IN, CIVIC_TOPICS):
            vectors_of(models_dir, load_taxonomy(taxonomy), embedder)
        PACKAGED_VECTORS.mkdir()
        for file in (models_dir / "theme_vectors").iterdir():
            shutil.copyfile(file, PACKAGED_VECTORS / file.name)


if __name__ == "__main__":
    main()
