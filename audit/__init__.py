"""Raterlens put to the test: damaged files, tiny designs, kills, failing disks, strangers, faults made on purpose."""
