"""Commands that keep the lake: `backup`, `restore`, `migrate` and `retention`."""
