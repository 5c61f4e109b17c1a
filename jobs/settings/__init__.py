"""Settings: TOML to frozen dataclasses."""
