"""From generated source to machine code in memory."""
