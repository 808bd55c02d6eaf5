"""Manifests of clusters and clouds, a file each: what they give a job, and what they start in it."""
