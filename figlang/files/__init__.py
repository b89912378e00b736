"""Files and folders: written whole, locked, found, downloaded, and free of secrets."""
