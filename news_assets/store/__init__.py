"""The lake: tables, connection, transactions, maintenance."""
