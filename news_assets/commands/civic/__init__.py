"""Commands of the civic desk."""
