"""Desk files: the YAML files that declare agencies and their sources.

    desk file -> yaml_nodes (nodes with line numbers) -> desk_spec (pydantic rules)
              -> desk_files -> Desk
    OPML, CSV or addresses -> site_lists -> ImportRows -> import_plan -> Additions
    -> import_plan -> desk file
    Desk -> site_lists.build_opml -> OPML

The built-in desks are the YAML files of this folder. Mistakes are reported as
`file:line: what; fix`, all at once.
"""
