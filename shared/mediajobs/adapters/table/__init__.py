"""The job table in DynamoDB: items, expressions, reads and guarded writes."""
