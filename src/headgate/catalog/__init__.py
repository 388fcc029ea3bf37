"""What users do with a catalog, one noun per file: resolve, attempt, commit."""
