"""Tools around the core: serialization, timing scripts, ordered collections."""
