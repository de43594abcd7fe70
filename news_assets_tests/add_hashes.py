"""Adds the hashes of files that pip would install to a requirements file.

Standard input is pip's installation report. `make hashes` adds the build of PyTorch without CUDA, which is not where
the other packages are and which pip finds by its own configuration.

    pip install --dry-run --no-deps --ignore-installed --quiet --report - torch | python -m ... requirements.txt
"""

import json
import re
import sys
from pathlib import Path


def with_hashes(requirements: str, report: str) -> str:
    """Return the requirements with the SHA-256 of each package of the report among its hashes."""
    for package in json.loads(report)["install"]:
        name, digest = package["metadata"]["name"], package["download_info"]["archive_info"]["hashes"]["sha256"]
        line = f"    --hash=sha256:{digest}"
        if line not in requirements:
            requirements, count = re.subn(
                rf"^({re.escape(name)}==\S+ \\\n)", rf"\1{line} \\\n", requirements, flags=re.M
            )
            if count != 1:
                raise SystemExit(f"{name} is in the file {count} times")
    return requirements


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_hashes(path.read_text(), sys.stdin.read()))
