"""Granicus: what ViewPublisher lists (`publisher.py`), and the agendas that
AgendaViewer shows (`agenda.py`).
"""
