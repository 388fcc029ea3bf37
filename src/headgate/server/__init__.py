"""Server processes: sockets, signals, one Granian server in each process."""
