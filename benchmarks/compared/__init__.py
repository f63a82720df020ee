"""Our server beside others of the field: what each keeps, judged by running it with a map of its tools."""
