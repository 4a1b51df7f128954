"""Ways out of a sandbox, each tried by code that runs inside of it. The folder is copied into the working directory."""
