"""Sitemaps, sitemap indexes and robots.txt.

Page.body -> sitemap: gunzip, decode -> xml.read_sitemap -> urlset:
Listing.entries
                                                         -> sitemapindex: order.in_order
                                                         -> Listing.next_urls
"""
