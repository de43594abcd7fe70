"""Taxonomies of themes: the built-in one (`themes.yaml`) and the reader of taxonomy
files.
"""
