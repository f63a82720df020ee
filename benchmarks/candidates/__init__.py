"""How a long history could be searched: what each candidate costs, on the same generated histories."""
