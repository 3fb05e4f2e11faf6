"""A stratified program as interval algebra."""
