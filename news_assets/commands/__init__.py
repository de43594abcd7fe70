"""The commands of `news-assets`, by what they work on. Each reads, calls the pipeline, and prints; no policy here."""
