"""Who may do what: rights, rules and decisions. Pure; it knows nothing of where they are kept."""
