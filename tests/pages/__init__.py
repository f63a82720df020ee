"""The commands on the pages of the documentation are run."""
