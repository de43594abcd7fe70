"""Runs functions over outside bytes and text in a child process with limits of time and
memory per call.

process_sandbox   the parent's side: `ProcessSandbox`, the port `Sandbox`
child             the child's side: makes the calls and ends itself where one takes too long
enricher          an enricher whose text work runs in the sandbox
"""
