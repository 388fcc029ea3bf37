"""A deterministic simulation: nodes, a network and a database on one event loop, from one seed."""
