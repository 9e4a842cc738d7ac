"""What one kernel does, and in which order: passes between lowering and the target, which they ask."""
