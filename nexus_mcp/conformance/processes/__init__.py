"""Other people's processes: started, fed, watched, bounded and ended with all their children."""
