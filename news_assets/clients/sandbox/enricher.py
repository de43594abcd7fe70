"""An enricher whose work on texts runs in the sandbox."""

from functools import lru_cache, partial
from pathlib import Path

from news_assets.errors import EnrichError, NewsAssetsError
from news_assets.pipeline.enrich.local import LocalEnricher
from news_assets.ports import Sandbox
from news_assets.records import Enrichment
from news_assets.taxonomy.loader import load_taxonomy


class SandboxedEnricher:
    """The local enricher with its limits of time and memory; implements `ports.Enricher`."""

    def __init__(self, taxonomy: Path | None, sandbox: Sandbox) -> None:
        local = LocalEnricher(load_taxonomy(taxonomy))
        self.name, self.model = local.name, local.model
        self.prompt_version, self.taxonomy_version = local.prompt_version, local.taxonomy_version
        self._enrich = partial(_enrich, taxonomy, local.taxonomy_version)
        self._sandbox = sandbox

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return the enrichment of one article. Raises EnrichError."""
        [found] = self._sandbox.run(self._enrich, [(title, text, language)])
        if isinstance(found, NewsAssetsError):
            raise EnrichError(str(found)) from found
        return found


def _enrich(taxonomy: Path | None, version: str, title: str, text: str, language: str | None) -> Enrichment:
    return _local(taxonomy, version).enrich(title, text, language)


@lru_cache(maxsize=1)
def _local(taxonomy: Path | None, version: str) -> LocalEnricher:
    """Return the enricher of the sandbox's process; another `version` of the taxonomy is read again."""
    return LocalEnricher(load_taxonomy(taxonomy))
