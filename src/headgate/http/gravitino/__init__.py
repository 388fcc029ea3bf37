"""Gravitino's REST protocol: the control plane of metalakes and what is in them."""
