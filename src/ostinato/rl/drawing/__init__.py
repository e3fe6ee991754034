"""Pictures of environments, and films of episodes."""
