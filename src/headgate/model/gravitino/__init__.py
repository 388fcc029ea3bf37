"""Tables and views in the words of Gravitino, and how they are those of Iceberg. All of it pure."""
