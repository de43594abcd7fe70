"""Reading of PDFs.

reader    text of each page, and which pages are scans
tables    ruled tables of a page, as spans of its characters
strikes   marks around what is struck out
packet    pages of each agenda item in a packet
"""
