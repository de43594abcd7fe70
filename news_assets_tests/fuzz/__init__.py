"""Fuzzing of everything that reads bytes or text from outside.

readers -> every reader with its inputs; mutations of them, within limits; run is `make
fuzz`, guided one reader with atheris.
"""
