"""Desk files and their validating loader."""
