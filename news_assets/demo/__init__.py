"""The sample desk's news sites: `articles.yaml` rendered through `templates/` by the HTTP server in `site.py`."""

HOST, PORT = "127.0.0.1", 8971
