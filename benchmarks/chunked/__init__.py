"""What dask_chunks.py and larger.py measure: Dask over the chunks of several array libraries."""
