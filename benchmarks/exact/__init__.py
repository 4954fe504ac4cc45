"""What exact shortcuts cost beside what they replace."""
