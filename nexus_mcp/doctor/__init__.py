"""Looks at a workspace and tells what is wrong with it. Changes nothing, follows no link, and waits for
others no longer than lock_watch.py and git.py say.

examine.py runs the table CHECKS over a Site, which is what one look saw; codes.py says what each finding means.
"""
