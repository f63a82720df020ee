"""Looks at a workspace and tells what is wrong with it. Changes nothing, waits for nobody, follows no link.

examine.py runs the table CHECKS over a Site, which is what one look saw; codes.py says what each finding means.
"""
