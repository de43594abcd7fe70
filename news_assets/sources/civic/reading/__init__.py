"""What all vendors share: local times, status, values of pages, roles of links, ids,
change signals.
"""
