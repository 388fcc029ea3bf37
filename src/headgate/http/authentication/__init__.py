"""Who asks: what a request says of its sender, and how that is proved."""
