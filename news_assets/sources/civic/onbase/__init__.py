"""OnBase Agenda Online (Hyland): its listings (`listing.py`), and agendas with their
items (`agenda.py`).
"""
