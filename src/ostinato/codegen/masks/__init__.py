"""What need not be computed: points nobody asks for, loops that end early, dead rows."""
