"""The sample desk and its little news site."""
