"""The sample desk's news sites: `articles.yaml` rendered through `templates/` by the
HTTP server in `site.py`.
"""
