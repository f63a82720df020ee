"""What the user of the suite says, read and checked."""
