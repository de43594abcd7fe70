"""What is missing, stale, silent or failing, and the runs that process the backlog.
Pure.

backlog rows           | run_planner (rectangles)     = runs to start now, failures of
work that was given up rows of a desk         | row_checks                   = Findings
of the data quality checks entries by day, polls  | rhythm      = Habit
                       | silence                      = Findings: agencies silent beyond
                       their habit
SourceState, polls     | source_health                = Findings: sources that fail or
list nothing SourceState, polls     | source_status                = text for the UI and
the command line counts, Findings       | report                       = contents of the
daily report
"""
