"""Sitemaps, sitemap indexes and robots.txt.

Page.body -> sitemap: gunzip, decode -> sitemap_xml.read_sitemap -> urlset:
Listing.entries
                                                         -> sitemapindex:
                                                         sitemap_xml.in_order
                                                         -> Listing.next_urls
"""
