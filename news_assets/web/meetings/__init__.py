"""Meetings and matters for pages, API, feeds and calendars.

answers   what the list of meetings, a meeting and a matter answer with
reading   these answers, read from the lake
forms     meetings as entries of a feed and as events of a calendar
pages     the pages of a meeting and of a matter
"""
