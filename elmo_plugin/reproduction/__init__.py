"""Running experiments, collecting their scores and setting them in tables."""
