"""Find problems in a workspace, without changing it.

Doctor follows no link. lock_watch.py and git.py bound how long it waits. examine.py runs the table CHECKS over a Site,
the state of the workspace in one pass; codes.py holds the meaning of each finding.
"""
