"""What rules do to a program, and what is known of them: records that print, from Python too."""
