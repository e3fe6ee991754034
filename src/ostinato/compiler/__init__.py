"""The compiler: programs, options, the stages, and compiled programs."""
