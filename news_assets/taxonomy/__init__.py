"""Taxonomies of themes: the built-in one (`themes.yaml`) and the loader of taxonomy
files.
"""
