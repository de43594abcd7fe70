"""Recognises the text of images with the program tesseract, if it is installed."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from typing import Final

from news_assets.errors import ReadingError
from news_assets.pipeline.documents.pdf.pdf_text import DPI
from news_assets.settings import child_environment

MEMORY_MB: Final = (
    500  # address space, as of the process that reads; a page of A4 takes 250
)
# Limits itself, then becomes the program: a function called between fork and exec is
# not safe beside threads.
_LIMITED: Final = (
    "import os, resource, sys; size = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_AS,"
    " (size, size)); os.execv(sys.argv[2], sys.argv[2:])"
)
# Its names of languages, by those of BCP 47; used in this order where the language is
# unknown.
_LANGUAGES: Final = {"en": "eng", "pt": "por", "es": "spa"}


class Tesseract:
    """The installed program with its languages."""

    def __init__(self, program: str, languages: Sequence[str]) -> None:
        self._program, self._languages = program, tuple(languages)

    def text_of(self, image: bytes, limit_s: float, language: str | None = None) -> str:
        """Return the text on an image in a format that tesseract reads.

        Args:
            image: The file's bytes.
            limit_s: How long it may take.
            language: BCP 47; without it, or without its data, every installed one of a
                few is tried.

        Raises:
            ReadingError: It failed, or took too long.
        """
        stated = _LANGUAGES.get((language or "").partition("-")[0].lower())
        languages = stated if stated in self._languages else "+".join(self._languages)
        options = ("stdin", "stdout", "-l", languages, "--dpi", str(DPI))
        try:
            done = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    _LIMITED,
                    str(MEMORY_MB << 20),
                    self._program,
                    *options,
                ],
                input=image,
                capture_output=True,
                timeout=limit_s,
                check=False,
                env=child_environment(OMP_THREAD_LIMIT="1"),
            )
        except subprocess.TimeoutExpired as error:
            raise ReadingError(f"text not recognised in {limit_s:.0f} s") from error
        except OSError as error:
            raise ReadingError(f"tesseract could not be run: {error}") from error
        if done.returncode < 0:  # tesseract ends itself where it gets no memory
            raise ReadingError(f"text not recognised in {MEMORY_MB} MB of memory")
        if done.returncode:
            said = " ".join(done.stderr.decode(errors="replace").split())[-200:]
            raise ReadingError(
                f"tesseract ended with exit code {done.returncode}: {said}"
            )
        return done.stdout.decode(errors="replace")


@cache
def installed_tesseract() -> Tesseract | None:
    """Return the program if it is installed with data for one of the languages."""
    program = shutil.which("tesseract")
    if program is None:
        return None
    try:
        listed = subprocess.run(
            [program, "--list-langs"], capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    available = set(listed.stdout.decode(errors="replace").split())
    languages = [name for name in _LANGUAGES.values() if name in available]
    return Tesseract(program, languages) if languages else None
