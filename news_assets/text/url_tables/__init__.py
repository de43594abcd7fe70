"""Tables and rules of `text/urls.py`: parameters that do not identify a page, and
addresses that lead to another.
"""
