"""Many processes and threads over one store, and files that are edited at every point."""
