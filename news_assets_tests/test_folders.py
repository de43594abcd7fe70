from pathlib import Path

import pytest

from news_assets.folders import close_to_others, private_folder
from news_assets.settings import Settings


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_folder_and_its_parents_are_private_and_existing_ones_stay(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o755)

    assert private_folder(tmp_path / "home" / "data") == tmp_path / "home" / "data"

    assert [mode(tmp_path / name) for name in ("home/data", "home", ".")] == [
        0o700,
        0o700,
        0o755,
    ]


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(FileExistsError):
        private_folder(tmp_path / "file")


def test_a_folder_is_closed_to_others_and_a_missing_one_is_not_made(
    tmp_path: Path,
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o775)

    close_to_others(tmp_path / "home")
    close_to_others(tmp_path / "missing")

    assert mode(tmp_path / "home") == 0o700
    assert not (tmp_path / "missing").exists()


def test_the_settings_close_an_existing_home_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setenv("NEWS_HOME", str(tmp_path))

    Settings.read()

    assert mode(tmp_path) == 0o700
