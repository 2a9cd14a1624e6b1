"""What Alembic runs to bring a store's tables up to date: `env`, and a file a step in versions/."""
