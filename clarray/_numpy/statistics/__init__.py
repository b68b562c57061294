"""Averages, order statistics and histograms."""
