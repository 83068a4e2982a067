"""Worker pools: threads and processes that take tasks, and the order of their results."""
