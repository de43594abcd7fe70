"""Themes and their loader."""
