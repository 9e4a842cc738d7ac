"""One lowering per Op family: from an Apply to instructions and loop nests."""
