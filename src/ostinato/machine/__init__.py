"""What elementary work takes on a machine, and where measured profiles are kept."""
