"""Rows as files: JSON, CSV and XLSX, without cells that a spreadsheet would read as
formulas.
"""
