"""The daily report as a page.

Report (pipeline/freshness/report.py)
| plots   one SVG per plot, and the PNG thumbnail of the asset's metadata
| page    report.html with the plots embedded, one file per day
"""
