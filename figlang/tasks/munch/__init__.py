"""MUNCH (Tong et al. 2024): paraphrases of metaphorical words."""
