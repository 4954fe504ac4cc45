"""One script for each published figure or table."""
