"""Files that only this user can have written, and the directory of the cache."""
