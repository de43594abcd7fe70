"""The batch APIs of the simulated server: files, jobs, and results with their faults."""
