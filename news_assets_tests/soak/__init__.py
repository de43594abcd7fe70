"""Soak and crash tests.

kills runs and kills the processes of writers, and promises compares what they leave.
run is a profile over the faulty site, with processes measured; its faults and hostile
bodies are modules of their own.
"""
