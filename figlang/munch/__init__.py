"""MUNCH: from its judgements and rankings to the tables and figures of the paper (Tong et al. 2024)."""
