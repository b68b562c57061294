"""Expression nodes, views, and the one place that builds and checks them."""
