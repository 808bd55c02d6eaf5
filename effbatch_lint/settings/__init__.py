"""The project's settings: where their file is, what it says, and the record that the other stages read."""
