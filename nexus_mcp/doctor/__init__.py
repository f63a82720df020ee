"""Find problems in a workspace, without changing it.

Doctor follows no link in `.nexus`. lock_watch.py and git.py bound how long doctor waits. examine.py runs the table
CHECKS over a Site, the state of the workspace in one pass; codes.py holds the meaning of each finding.
"""
