"""One template per algorithm, named as its module in clarray.plan."""
