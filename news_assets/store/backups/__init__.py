"""Backups of a lake: consistent copies of its catalog, made while others write, and the
way back from one.

A backup is one file: the catalog, which lists the data files of its last commit with
their sizes. For SQLite it is a SQLite file, for Postgres a DuckDB file with the tables
of the catalog. A folder of the same name ending in `.data` has copies of the data
files, if the backup was made with them.
"""
