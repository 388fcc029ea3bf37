"""HTTP: one front for all protocols on the port, and one package per protocol."""
