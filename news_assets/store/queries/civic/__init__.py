"""Reads of meetings, their items and documents."""
