"""Files and folders: writing them whole, locking them, finding and downloading them, keeping secrets out."""
