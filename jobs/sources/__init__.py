"""Raw files to typed rows and reasons: what a site has, read without inference and without loss."""
