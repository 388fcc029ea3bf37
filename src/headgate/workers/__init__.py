"""Worker processes: a pool of them, what is said over their pipes, and the life of one."""
