"""Domains below which each host is another publisher's, though the public suffix list
does not name them.
"""

from typing import Final

SHARED_DOMAINS: Final = frozenset(
    {
        # blogs and newsletters
        "beehiiv.com",
        "blog.br",
        "ghost.org",
        "hatenablog.com",
        "livejournal.com",
        "medium.com",
        "over-blog.com",
        "squarespace.com",
        "substack.com",
        "tumblr.com",
        "typepad.com",
        "wordpress.com",
        # platforms of councils and public bodies
        "agendacenter.com",
        "boarddocs.com",
        "civicclerk.com",
        "civicplus.com",
        "civicweb.net",
        "community.diligentoneplatform.com",
        "community.highbond.com",
        "databankcloud.com",
        "escribemeetings.com",
        "granicus.com",
        "hylandcloud.com",
        "iqm2.com",
        "legistar.com",
        "municode.com",
        "novusagenda.com",
        "primegov.com",
        "simplebooklet.com",
    }
)
