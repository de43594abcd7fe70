"""Where log records go: standard error, from the level of NEWS_LOG_LEVEL on."""

import logging


def log_to_stderr(level: str) -> None:
    """Log records of this level and above with their time; a process that has handlers
    of its own keeps these.
    """
    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=level.upper()
    )
