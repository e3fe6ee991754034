"""What is kept on disk: programs, machine code and what runs found out, for this user only."""
