"""From nodes to equations: the extracted graph as a system."""
