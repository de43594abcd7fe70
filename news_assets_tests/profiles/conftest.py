from pathlib import Path


def home_in(folder: Path, models_dir: Path) -> Path:
    """Return a home with the models of the test run, because to export one takes longer
    than all the rest.
    """
    (folder / ".news").mkdir()
    (folder / ".news" / "models").symlink_to(models_dir, target_is_directory=True)
    return folder
