"""The pipeline from sentences or text to trees: `Parser`, documents, confidence, validity."""
