"""The API below /api/v1.

operations   what it can be asked, declared once: the routes and the description are made from it
handlers     the route of an operation
description  the description as OpenAPI 3.1
tools        some operations as tools of the Model Context Protocol
"""
