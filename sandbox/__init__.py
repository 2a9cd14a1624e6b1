"""Sandboxes for untrusted code. This folder is imported as `reasongym.sandbox`."""

if __name__ != "reasongym.sandbox":
    raise ImportError(f"this folder is the package reasongym.sandbox; it was imported as {__name__!r}. "
                      "Run from outside the repository, or write `import reasongym.sandbox`.")

__all__: list[str] = []
