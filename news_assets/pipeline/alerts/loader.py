"""Loads the file of saved queries and reports each mistake with its line and fix."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from news_assets.desks.desk_files import read_text
from news_assets.desks.yaml_nodes import compose, construct, line_of, repeated_keys
from news_assets.errors import DeskFileError, SettingsError
from news_assets.pipeline.alerts.spec import Alerts

_EMPTY = "no queries in this file; begin with `queries:`"
_UNIONS = {
    "webhook",
    "mail",
    "telegram",
    "slack",
}  # which pydantic adds to the path of a channel


def load_alerts(path: Path | None) -> Alerts:
    """Return the queries, channels and operators' rules of a file; None gives none of
    them.

    Raises:
        SettingsError: All mistakes of the file, one `file:line: what; fix` each.
    """
    if path is None:
        return Alerts()
    try:
        root = compose(read_text(path), path, _EMPTY)
        mistakes = [
            f"{path}:{line}: `{key}` is repeated; keep one"
            for key, line in repeated_keys(root)
        ]
        value = construct(root, path)
    except DeskFileError as error:
        raise SettingsError(str(error)) from error
    if not mistakes:
        try:
            return Alerts.model_validate(value)
        except ValidationError as error:
            found = sorted(
                (line_of(root, line["loc"]), explain(line)) for line in error.errors()
            )
            mistakes = [f"{path}:{line}: {what}" for line, what in found]
    raise SettingsError("\n".join(mistakes))


def explain(error: Any) -> str:
    """Return one line about a mistake that pydantic found in a file or a query: where
    it is, and the fix.
    """
    where = (
        ".".join(str(part) for part in error["loc"] if part not in ("[key]", *_UNIONS))
        or "file"
    )
    match error["type"]:
        case "missing":
            return f"{where} is missing; add it"
        case "extra_forbidden":
            return f"{where}: unknown key; remove it"
        case "value_error":
            return f"{where}: {error['ctx']['error']}"
        case _:
            return f"{where}: {error['msg']}; change {str(error['input'])[:80]!r}"
