"""Reads documents in a child process of their own, and the text of scanned pages with
tesseract.

reader      `DocumentReader`: limits, text recognition, and each content once
tesseract   the program, if it is installed
"""
