"""What a fit found, as data: the record, its tables, its warnings, and JSON."""
