"""Write the tables of retries into docs/operations.md, from `news_assets/retry_table.py`.

Run: `make docs`, or `python -m news_assets_tests.retries_section`.
"""

from pathlib import Path

from news_assets.retry_table import (
    ENDLESS,
    NEVER_RETRIED,
    RETRY_RULES,
    WAIT_LIMITS,
    RetryRule,
)

PAGE = Path(__file__).parents[1] / "docs/operations.md"
_BEGIN = "<!-- retries: written by `make docs` -->\n"
_END = "<!-- end of retries -->\n"
_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def with_retries(page: str) -> str:
    """Return the page with the present tables between its two marks."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{_tables()}{_END}{after}"


def _tables() -> str:
    retried = [
        "| work | failure | next attempt | attempts |",
        "|---|---|---|---|",
    ]
    for rule in RETRY_RULES:
        attempts = (
            "without end" if rule.max_attempts == ENDLESS else str(rule.max_attempts)
        )
        waits = " ".join(filter(None, (_waits(rule), rule.note)))
        retried.append(f"| {rule.work} | {rule.failure} | {waits} | {attempts} |")
    never = ["| work | failure | instead of another attempt |", "|---|---|---|"]
    for work, failure, instead in NEVER_RETRIED:
        never.append(f"| {work} | {failure} | {instead} |")
    limits = ["| wait | at most | a longer one |", "|---|---|---|"]
    limits += [
        f"| {limit.wait} | {_duration(limit.longest_s)} | {limit.then} |"
        for limit in WAIT_LIMITS
    ]
    return "\n".join(("", *retried, "", *never, "", *limits, "", ""))


def _waits(rule: RetryRule) -> str:
    """Return the pauses as a sentence, up to the last attempt."""
    if not rule.pauses_s:
        return ""
    pauses = rule.pauses_s[: rule.max_attempts - 1]
    text = f"After {', '.join(map(_duration, pauses))}"
    if rule.max_attempts - 1 <= len(pauses):
        return f"{text}."
    if rule.then == "repeated":
        return f"{text}, which is repeated."
    if rule.max_attempts == ENDLESS:
        return f"{text}, doubled each time up to {_duration(rule.longest_s)}."
    return f"{text}, doubled each time."


def _duration(seconds: float) -> str:
    for unit_s, name in _UNITS:
        if seconds >= unit_s:
            number = seconds / unit_s
            return f"{number:g} {name}{'' if number == 1 else 's'}"
    return f"{seconds:g} s"


if __name__ == "__main__":
    PAGE.write_text(with_retries(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
