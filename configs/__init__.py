"""Training recipes, one YAML file each. This folder is imported as `reasongym.configs`."""

if __name__ != "reasongym.configs":
    raise ImportError(f"this folder is the package reasongym.configs; it was imported as {__name__!r}. "
                      "Run from outside the repository, or write `import reasongym.configs`.")

__all__: list[str] = []
