"""Settings that ship with the product, read through `importlib.resources.files("conf")`."""
